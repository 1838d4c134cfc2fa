import type { JsonObject } from '../json.js'

/** A person as relying parties may know them. */
export interface Account {
  readonly subject: string
  /** Standard claims (OIDC Core §5.1), of which the core releases what scope and consent allow. */
  readonly claims: JsonObject
}

/** What a page calls a person. */
export const displayName = ({ subject, claims }: Account): string => {
  for (const name of ['name', 'preferred_username', 'email']) {
    const value = claims[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return subject
}

/** Where accounts are found: the login provider. */
export interface AccountLookup {
  /** The account, or undefined when it is gone or disabled: then nothing more is issued for it. Throws `Unavailable`. */
  find(subject: string, signal: AbortSignal): Promise<Account | undefined>
}
