import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { english } from '../../oauth/said.js'
import { packageRoot } from '../../package-root.js'

/** The texts of one language by key. Complete: what a language lacks is there in another. */
export type Texts = ReadonlyMap<string, string>

/** The texts of the pages in every language that they can be shown in. */
export interface Messages {
  /** Language tags (RFC 5646), the default first. */
  readonly languages: readonly [string, ...string[]]
  /** By language tag. */
  readonly texts: ReadonlyMap<string, Texts>
}

/** Has every text that there is, and what the others lack. */
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
