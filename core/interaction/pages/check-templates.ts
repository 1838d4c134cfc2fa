import type { Messages } from '../languages/built-in.js'
import { createPages } from './create-pages.js'
import type { Asset } from './load-assets.js'
import type { Theme } from './theme.js'
import type { PageKind } from './page.js'
import type { Pages } from './pages.js'
import { readForms, readTags, type Form, type Tag } from './read-forms.js'
import { unescaped } from './sample.js'

const assetsPath = '/assets'

/** Returns what the security policy of the pages stops a browser from running, applying or loading. */
const findBlocked = ({ name, attributes }: Tag): string | undefined => {
  const isHere = (address: string | undefined) => address?.startsWith(`${assetsPath}/`) === true
  if (name === 'style' || attributes.has('style')) return 'has a style within the page'
  const handler = [...attributes.keys()].find((key) => key.startsWith('on'))
  if (handler !== undefined) return `has a script within the page, ${handler}`
  if (name === 'script' && !attributes.has('src')) return 'has a script within the page'
  if (name === 'script' && !isHere(attributes.get('src'))) return 'loads a script from elsewhere'
  const isSheet = name === 'link' && attributes.get('rel') === 'stylesheet'
  return isSheet && !isHere(attributes.get('href')) ? 'loads a stylesheet from elsewhere' : undefined
}

const scriptsOf = (tags: readonly Tag[]): readonly string[] =>
  tags.filter(({ name }) => name === 'script').map(({ attributes }) => attributes.get('src') ?? '')

/** Returns what is missing from the most similar form. */
const findMissing = ({ target, controls }: Form, given: readonly Form[]): string | undefined => {
  const lacks = given
    .filter((form) => form.target === target)
    .map((form) => [...controls].filter((control) => !form.controls.has(control)))
    .toSorted((left, right) => left.length - right.length)
  if (lacks[0] === undefined) return `lacks a form with the method and the action that it is given (here ${target})`
  return lacks[0].length === 0 ? undefined : `lacks ${lacks[0].join(', ')} in its form`
}

/** Returns what `own` lacks of what Signet's page needs, or what it contains that a browser blocks. */
const findPageFault = (own: string, wanted: readonly Tag[]): string | undefined => {
  if (own.includes(unescaped)) return 'writes a value without escaping it: use <%= %>, not <%~ %>'
  const tags = readTags(own)
  const blocked = tags.map(findBlocked).find((fault) => fault !== undefined)
  if (blocked !== undefined) return `${blocked}, which the security policy of the pages blocks`
  const script = scriptsOf(wanted).find((src) => !scriptsOf(tags).includes(src))
  if (script !== undefined) return `lacks the script ${script.replace(/^.*\/|\?.*$/g, '')}`
  const forms = readForms(tags)
  return readForms(wanted)
    .map((form) => findMissing(form, forms))
    .find((fault) => fault !== undefined)
}

type Show = (isOwn: boolean, language: string) => string

/** Returns the first fault of a page, in the first language that has one. */
const findFault = (name: string, show: Show, languages: readonly string[]): string | undefined => {
  const [first = 'en'] = languages
  const plain = readTags(show(false, first))
  for (const language of languages) {
    const page = language === first ? `the page ${name}` : `the page ${name} in ${language}`
    try {
      const fault = findPageFault(show(true, language), plain)
      if (fault !== undefined) return `${page} ${fault}`
    } catch (error) {
      return `${page} cannot be rendered: ${(error as Error).message}`
    }
  }
  return undefined
}

/** Returns the first fault of the states of a page. */
const findFaultOf = (
  { view, samples }: PageKind<unknown>,
  show: (sample: unknown) => Show,
  languages: readonly string[],
): string | undefined =>
  Object.entries(samples)
    .map(([state, sample]) => findFault(state === '' ? view : `${view} (${state})`, show(sample), languages))
    .find((fault) => fault !== undefined)

/**
 * Renders these pages in every language with sample values, by the templates of the theme and by those of Signet.
 * Returns a line for each page that cannot be rendered or that people could not use.
 */
export const findTemplateFaults = (
  kinds: readonly PageKind<unknown>[],
  theme: Theme,
  messages: Messages,
  builtIn: ReadonlyMap<string, Asset>,
): readonly string[] => {
  const assets = new Map([...builtIn, ...theme.assets])
  const pagesOf = (from: Theme): Pages =>
    createPages({ assetsPath, assets, theme: from, messages, accountUrl: '/account' })
  let own: Pages
  try {
    own = pagesOf(theme)
  } catch (error) {
    return [`cannot be compiled: ${(error as Error).message}`]
  }
  const plain = pagesOf({ ...theme, views: new Map() })
  return kinds.flatMap((kind) => {
    const show =
      (sample: unknown): Show =>
      (isOwn, language) =>
        (isOwn ? own : plain).for({ uiLocales: language }).show(kind, sample)
    return findFaultOf(kind, show, messages.languages) ?? []
  })
}
