import type { JsonObject } from '../json.js'

/** A person as relying parties may know them. */
export interface Account {
  readonly subject: string
  /** Any claims, of which the core releases what scopes and the configuration say. */
  readonly claims: JsonObject
  /** The operator sets the password: the person cannot change it at `/account`. */
  readonly passwordFixed?: true
}

/** The claims that a page can call a person by, the best first. */
export const shownClaims: readonly string[] = ['name', 'preferred_username', 'email']

/** What a page calls a person. */
export const displayName = ({ subject, claims }: Account): string => {
  for (const name of shownClaims) {
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
