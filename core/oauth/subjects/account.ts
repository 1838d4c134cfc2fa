import type { JsonObject } from '../../json.js'
import { hasInk } from '../../plain-text.js'
import { yesOrNo } from '../../yes-or-no.js'

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

/** What a page calls a person: their name, what they sign in with, or their e-mail address; a bare subject tells people nothing. */
export const displayName = ({ subject, claims }: Account, username?: string): string => {
  const { name, preferred_username: preferred, email } = claims
  const known = [name, preferred, username, email].find((value) => typeof value === 'string' && hasInk(value))
  return typeof known === 'string' ? known : subject
}

/** Where accounts are found: in what plugins contribute as `accounts`. */
export interface AccountLookup {
  /** The account, or undefined when it is gone or disabled: then nothing more is issued for it. Throws `Unavailable`. */
  find(subject: string, signal: AbortSignal): Promise<Account | undefined>
  /**
   * The account as this process knows it without asking a store, or undefined where only `find` can tell. For accounts whose
   * disabling ends what their sign-ins have opened, as `signet accounts disable` does: `/userinfo` and introspection do not ask again
   * about the person of a token that is not over. New tokens are prepared with it, and `find` is asked before one leaves. Absent: undefined.
   */
  peek?(subject: string): Account | undefined
  /**
   * The account that somebody who signs in calls by this name, of any length; undefined when there is none, or it is disabled. With
   * it, clients of CIBA name people as they name themselves. Throws `Unavailable`.
   */
  findByUsername?(username: string, signal: AbortSignal): Promise<Account | undefined>
  /** Whether the subject is taken, also by an account that is disabled. Absent: as `find` says. Throws `Unavailable`. */
  has?(subject: string, signal: AbortSignal): Promise<boolean>
}

/** Whether a subject is taken. Throws `Unavailable`. */
export type HasSubject = (subject: string, signal: AbortSignal) => Promise<boolean>

/** Whether one of them has the subject. */
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

/** Asks one after another. An outage of one is never told as an account that is gone. Undefined where there is none. */
export const joinAccounts = (lookups: readonly AccountLookup[]): AccountLookup | undefined => {
  const [first, ...others] = lookups
  if (first === undefined || others.length === 0) return first
  return {
    find: (subject, signal) => firstFound(lookups.map((lookup) => () => lookup.find(subject, signal))),
    // Another's account comes first when the first lookup has to ask for it.
    peek: (subject) => first.peek?.(subject),
    findByUsername: (username, signal) =>
      firstFound(lookups.map((lookup) => () => lookup.findByUsername?.(username, signal))),
  }
}
