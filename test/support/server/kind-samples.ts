import type { PageKind } from '../../../core/interaction/pages/page.js'
import type { SpokenPages } from '../../../core/interaction/pages/pages.js'
import { unescaped } from '../../../core/interaction/pages/sample.js'

/** What stands for what the samples contain. */
export interface SampleMaterial {
  /** The text that comes from people and clients. */
  readonly text: string
  /** Where forms are posted to. */
  readonly origin: string
  /** A picture that loads, or nothing. */
  readonly logo: string
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/** The samples that come with every kind of page, by a name that begins with its view. */
export const kindSamples = (
  kinds: readonly PageKind<unknown>[],
  pages: SpokenPages,
  { text, origin, logo }: SampleMaterial,
): readonly (readonly [string, string])[] =>
  kinds.flatMap((kind) =>
    Object.entries(kind.samples).map(([state, sample]) => {
      const filled = JSON.stringify(sample)
        .replaceAll(unescaped, inJson(text))
        .replaceAll(/https:\/\/\w+\.example\/logo\.png/g, logo)
        .replaceAll('"/form"', `"${origin}/post"`)
      const html = pages.show(kind, JSON.parse(filled))
      return [`${kind.view} sample${state && ` ${state}`}`, withoutSending(html)] as const
    }),
  )

/** Without the script that would send the form of the page, and lead away from it. */
const withoutSending = (html: string): string =>
  html.replace(/<script src="\/assets\/form-post\.js[^"]*"><\/script>/, '')
