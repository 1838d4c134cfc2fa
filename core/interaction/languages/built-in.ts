import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { english } from '../../oauth/said.js'
import { packageRoot } from '../../package-root.js'

/** The texts of one language by key. They are complete: a text that the language lacks is taken from another one. */
export type Texts = ReadonlyMap<string, string>

/** The texts of the pages in every available language. */
export interface Messages {
  /** Language tags (RFC 5646), the default first. */
  readonly languages: readonly [string, ...string[]]
  /** The texts by language tag. */
  readonly texts: ReadonlyMap<string, Texts>
}

/** English has every text, and supplies what the others lack. */
export { english }

const readTexts = (language: string): Texts => {
  const file = join(packageRoot, 'config/messages', `${language}.json`)
  return new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>))
}

/** What comes with the product: `config/messages/{language}.json`. */
const languages = ['en', 'de', 'fr', 'es', 'ar'] as const

export const builtIn: Messages = {
  languages,
  texts: new Map(languages.map((language) => [language, language === 'en' ? english : readTexts(language)])),
}
