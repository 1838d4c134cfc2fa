import type { JsonObject } from '../../json.js'
import { hasInk } from '../../plain-text.js'
import { yesOrNo } from '../../yes-or-no.js'

/** A person as relying parties see them. */
export interface Account {
  readonly subject: string
  /** Any claims. The core releases those that scopes and the configuration allow. */
  readonly claims: JsonObject
  /** The operator sets the password, so the person cannot change it at `/account`. */
  readonly passwordFixed?: true
}

/** The claims that a page can name a person by, the best first. */
export const shownClaims: readonly string[] = ['name', 'preferred_username', 'email']

/**
 * Returns the name of a person for pages: their name, their username, or their e-mail address, because a bare subject
 * means nothing to people.
 */
export const displayName = ({ subject, claims }: Account, username?: string): string => {
  const { name, preferred_username: preferred, email } = claims
  const known = [name, preferred, username, email].find((value) => typeof value === 'string' && hasInk(value))
  return typeof known === 'string' ? known : subject
}

/** Looks up accounts. Plugins contribute it as `accounts`. */
export interface AccountLookup {
  /**
   * Returns the account, or undefined when it is gone or disabled; then nothing more is issued for it. Throws
   * `Unavailable`.
   */
  find(subject: string, signal: AbortSignal): Promise<Account | undefined>
  /**
   * Returns the account as this process knows it without asking a store, or undefined if only `find` can tell. It is
   * for accounts whose disabling ends what their sign-ins have opened, as `signet accounts disable` does: `/userinfo`
   * and introspection then need no further lookup for a token that is not over. New tokens are prepared with it, and
   * `find` is called before one is sent. Absent: always undefined.
   */
  peek?(subject: string): Account | undefined
  /**
   * Returns the account with this username, which may have any length; undefined when there is none, or it is
   * disabled. Clients of CIBA use it to name people by their username. Throws `Unavailable`.
   */
  findByUsername?(username: string, signal: AbortSignal): Promise<Account | undefined>
  /**
   * Tells whether the subject is taken, also by a disabled account. Absent: the result of `find` counts. Throws
   * `Unavailable`.
   */
  has?(subject: string, signal: AbortSignal): Promise<boolean>
}

/** Tells whether a subject is taken. Throws `Unavailable`. */
export type HasSubject = (subject: string, signal: AbortSignal) => Promise<boolean>

/** Tells whether one of the lookups has the subject. */
export const hasSubject =
  (lookups: readonly AccountLookup[]): HasSubject =>
  async (subject, signal) => {
    for (const lookup of lookups) {
      const taken =
        lookup.has === undefined
          ? (await lookup.find(subject, signal)) !== undefined
          : yesOrNo('`has` of accounts', await lookup.has(subject, signal))
      if (taken) return true
    }
    return false
  }

const firstFound = async (
  asks: readonly (() => Promise<Account | undefined> | undefined)[],
): Promise<Account | undefined> => {
  for (const ask of asks) {
    const account = await ask()
    if (account !== undefined) return account
  }
  return undefined
}

/**
 * Asks the lookups one after another. An outage of one is never reported as a missing account. Returns undefined when
 * there are no lookups.
 */
export const joinAccounts = (lookups: readonly AccountLookup[]): AccountLookup | undefined => {
  const [first, ...others] = lookups
  if (first === undefined || others.length === 0) return first
  return {
    find: (subject, signal) => firstFound(lookups.map((lookup) => () => lookup.find(subject, signal))),
    // Only the first lookup is used: if it has to ask a store, an account of a later one must not take precedence.
    peek: (subject) => first.peek?.(subject),
    findByUsername: (username, signal) =>
      firstFound(lookups.map((lookup) => () => lookup.findByUsername?.(username, signal))),
  }
}
