import type { LanguagePreferences } from '../languages/choose-language.js'
import type { PageKind } from './page.js'

/** The pages in one language. */
export interface SpokenPages {
  /** A language tag (RFC 5646), for `Content-Language`. */
  readonly language: string
  /** Returns a complete HTML document that works without JavaScript, and escapes every value. */
  show<Page>(kind: PageKind<Page>, page: NoInfer<Page>): string
}

/** The pages of a deployment. Used directly, they are in its first language. */
export interface Pages extends SpokenPages {
  /** Returns the pages in the language that fits best. */
  for(preferences: LanguagePreferences): SpokenPages
}
