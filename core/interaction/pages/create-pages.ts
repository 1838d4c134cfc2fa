import { builtIn, type Messages } from '../languages/built-in.js'
import { createChooseLanguage } from '../languages/choose-language.js'
import { createTranslator, type Translator } from '../languages/translator.js'
import type { Asset } from './load-assets.js'
import { plainTheme, type Theme } from './theme.js'
import type { PageContext, PageKind } from './page.js'
import { pageKinds, type Pages, type SpokenPages } from './pages.js'
import { compileTemplates, type Render } from './templates.js'
import { createDescribePermissions, type ScopeTexts } from './permissions.js'

export interface PagesOptions {
  /** The default is Signet's own theme. */
  readonly theme?: Theme
  /** Path of the assets, without a trailing slash: `/assets`, `/op/assets`. */
  readonly assetsPath: string
  readonly assets: ReadonlyMap<string, Asset>
  /** The URL of the person's own page. Absent when there is none. */
  readonly accountUrl?: string
  /** Scopes for which the operator has written texts. */
  readonly scopes?: readonly ScopeTexts[]
  /** When absent, the messages that come with the product are used. */
  readonly messages?: Messages
}

/** Creates the built-in pages from `views/`. Text that comes from clients and people is always data, never markup. */
export const createPages = (options: PagesOptions): Pages => {
  const { assetsPath, assets, messages = builtIn } = options
  const renderIn = compileTemplates({ theme: options.theme ?? plainTheme, name: 'Signet', assetsPath, assets })
  const choose = createChooseLanguage(messages.languages)
  const spoken = new Map(
    messages.languages.map((language) => {
      const translator = createTranslator(language, messages.texts.get(language) ?? new Map())
      return [language, createSpokenPages(translator, renderIn(translator), options)]
    }),
  )
  const first = spoken.get(messages.languages[0]) as SpokenPages
  return { ...first, for: (preferences) => spoken.get(choose(preferences)) ?? first }
}

const createSpokenPages = (
  translator: Translator,
  render: Render,
  { accountUrl, scopes }: PagesOptions,
): SpokenPages => {
  const context: PageContext = {
    translator,
    describePermissions: createDescribePermissions(translator, scopes ?? []),
    accountUrl,
  }
  const show =
    <Page>({ view, describe }: PageKind<Page>) =>
    (page: Page): string =>
      render(view, describe(page, context))
  const pages = Object.entries(pageKinds).map(([name, kind]) => [name, show(kind as PageKind<unknown>)] as const)
  return { ...(Object.fromEntries(pages) as Omit<SpokenPages, 'language'>), language: translator.language }
}
