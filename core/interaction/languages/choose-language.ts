import { RecentMap } from '../../recent-map.js'

/**
 * Returns the language of this list that matches a range best (RFC 4647 §3.4): `de-CH-1996`, then `de-CH`, then `de`.
 */
const lookUp = (range: string, languages: ReadonlyMap<string, string>): string | undefined => {
  let tag = range.toLowerCase()
  while (tag !== '') {
    const found = languages.get(tag)
    if (found !== undefined) return found
    // A single letter introduces an extension and means nothing on its own.
    tag = tag.slice(0, Math.max(0, tag.lastIndexOf('-'))).replace(/-[a-z\d]$/, '')
  }
  return undefined
}

/** No real browser sends a longer list. */
const mostRead = 512
/** The number of headers whose language is cached. */
const maxHeadersKept = 256

/**
 * Parses `de-CH, fr;q=0.8` into ranges, the preferred first. Ranges with weight zero or a malformed weight are left
 * out (RFC 9110 §12.5.4).
 */
const readAcceptLanguage = (header: string): readonly string[] =>
  header
    .slice(0, mostRead)
    .split(',')
    .flatMap((part) => {
      const [, range, weight = '1'] = /^\s*([a-z\d-]{1,64})\s*(?:;\s*q=(\d(?:\.\d{0,3})?)\s*)?$/i.exec(part) ?? []
      return range === undefined || Number(weight) === 0 ? [] : [{ range, weight: Number(weight) }]
    })
    .sort((one, other) => other.weight - one.weight)
    .map(({ range }) => range)

/** What a request says about the languages of the person. It is untrusted. */
export interface LanguagePreferences {
  /** `ui_locales` (OIDC Core §3.1.2.1): tags in order of preference, separated by spaces. */
  readonly uiLocales?: string | undefined
  /** The header `Accept-Language`. */
  readonly acceptLanguage?: string | undefined
}

/** Creates the choice among `languages`, the first of which is the default. */
export const createChooseLanguage = (
  languages: readonly [string, ...string[]],
): ((preferences: LanguagePreferences) => string) => {
  const byTag = new Map(languages.map((language) => [language.toLowerCase(), language]))
  const first = (ranges: readonly string[]): string | undefined => {
    for (const range of ranges) {
      const found = lookUp(range, byTag)
      if (found !== undefined) return found
    }
    return undefined
  }
  // Most people send one of a few headers, and parsing one costs more than rendering a short page.
  const byHeader = new RecentMap<string, string>(maxHeadersKept)
  const ofHeader = (header: string): string => {
    const known = byHeader.get(header)
    if (known !== undefined) return known
    const language = first(readAcceptLanguage(header)) ?? languages[0]
    if (header.length <= mostRead) byHeader.set(header, language)
    return language
  }
  return ({ uiLocales, acceptLanguage }) =>
    (uiLocales === undefined ? undefined : first(uiLocales.slice(0, mostRead).split(' '))) ??
    (acceptLanguage === undefined ? languages[0] : ofHeader(acceptLanguage))
}

/** Returns a text that the operator has written, by language tag, in this language, or else in one that exists. */
export const textIn = (language: string, texts: Readonly<Record<string, string>> | undefined): string | undefined => {
  if (texts === undefined) return undefined
  const byTag = new Map(Object.keys(texts).map((tag) => [tag.toLowerCase(), tag]))
  const found = lookUp(language, byTag) ?? lookUp('en', byTag)
  return found === undefined ? Object.values(texts)[0] : texts[found]
}
