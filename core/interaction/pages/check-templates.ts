import type { Messages } from '../languages/built-in.js'
import { createWords } from '../languages/words.js'
import { createPages } from './create-pages.js'
import type { Asset } from './load-assets.js'
import type { Look } from './look.js'
import type { Pages } from './pages.js'
import { readForms, readTags, type Form, type Tag } from './read-forms.js'
import { samplePages, unescaped } from './sample-pages.js'
import { compileTemplates } from './templates.js'

const assetsPath = '/assets'

/** What the security policy of the pages does not let a browser run, use or load. */
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

/** What of a form is missing in the one that comes nearest to it. */
const findMissing = ({ target, controls }: Form, given: readonly Form[]): string | undefined => {
  const lacks = given
    .filter((form) => form.target === target)
    .map((form) => [...controls].filter((control) => !form.controls.has(control)))
    .toSorted((left, right) => left.length - right.length)
  if (lacks[0] === undefined) return `lacks a form with the method and the action that it is given (here ${target})`
  return lacks[0].length === 0 ? undefined : `lacks ${lacks[0].join(', ')} in its form`
}

/** What `own` lacks of what `plain` works with, or has in it that a browser blocks. */
const findPageFault = (own: string, plain: string): string | undefined => {
  if (own.includes(unescaped)) return 'writes a value without escaping it: use <%= %>, not <%~ %>'
  const [tags, wanted] = [readTags(own), readTags(plain)]
  const blocked = tags.map(findBlocked).find((fault) => fault !== undefined)
  if (blocked !== undefined) return `${blocked}, which the security policy of the pages blocks`
  const script = scriptsOf(wanted).find((src) => !scriptsOf(tags).includes(src))
  if (script !== undefined) return `lacks the script ${script.replace(/^.*\/|\?.*$/g, '')}`
  const forms = readForms(tags)
  return readForms(wanted)
    .map((form) => findMissing(form, forms))
    .find((fault) => fault !== undefined)
}

/**
 * Renders every page by the templates of the look with sample values, beside the same page by those of Signet. Returns a
 * line for each that cannot be rendered, or that people could not work with.
 */
export const findTemplateFaults = (
  look: Look,
  messages: Messages,
  builtIn: ReadonlyMap<string, Asset>,
): readonly string[] => {
  const assets = new Map([...builtIn, ...look.assets])
  const [language = 'en'] = messages.languages
  const words = createWords(language, messages.texts.get(language) ?? new Map())
  const plain = { ...look, views: new Map<string, string>() }
  const pagesOf = (from: Look): Pages =>
    createPages({ assetsPath, assets, look: from, messages, accountUrl: '/account' })
  const homeOf = (from: Look): string =>
    compileTemplates({ look: from, name: 'Sample', assetsPath, assets })(words)('home', {
      title: 'Sample',
      issuer: 'https://sample.example',
    })
  let own: Pages
  try {
    own = pagesOf(look)
  } catch (error) {
    return [`cannot be compiled: ${(error as Error).message}`]
  }
  const builtInPages = pagesOf(plain)
  const samples: readonly (readonly [string, (own: boolean) => string])[] = [
    ...[...samplePages].map(
      ([name, render]) => [name, (isOwn: boolean) => render(isOwn ? own : builtInPages)] as const,
    ),
    ['home', (isOwn) => homeOf(isOwn ? look : plain)],
  ]
  return samples.flatMap(([name, render]) => {
    let html: string
    try {
      html = render(true)
    } catch (error) {
      return [`the page ${name} cannot be rendered: ${(error as Error).message}`]
    }
    const fault = findPageFault(html, render(false))
    return fault === undefined ? [] : [`the page ${name} ${fault}`]
  })
}
