import type { JsonObject } from '../json.js'

/** An account as `plugins/login/password` knows it: from the configuration's `accounts:` or from the records store. */
export interface AccountRecord {
  readonly username: string
  readonly sub: string
  /**
   * The PHC string of a memory-hard hash (Argon2id, RFC 9106), a hash of another product that was imported, or empty
   * when there is no password.
   */
  readonly password_hash: string
  readonly claims: JsonObject
  readonly disabled?: boolean
  /** The account is in the configuration, which alone changes its password. The store never has this member. */
  readonly fixed?: true
}

/** The accounts of this deployment. Throws `Unavailable`. */
export interface AccountDirectory {
  findByUsername(username: string): Promise<AccountRecord | undefined>
  findBySubject(subject: string): Promise<AccountRecord | undefined>
  /**
   * Returns an account of the configuration as the file has it. An operator may have disabled it since;
   * `findBySubject` knows.
   */
  peekBySubject(subject: string): AccountRecord | undefined
  /**
   * Gives an account of the store another password, as a PHC string, in one atomic step. Returns true for the one
   * caller whose `known` is still the record's `password_hash`; false when the password has changed by now, and for
   * an account that is gone, is disabled, or is in the configuration. It does not end what sign-ins have opened.
   */
  replacePassword(known: AccountRecord, password_hash: string): Promise<boolean>
}

/** Follows the configuration in force, because plugins outlive a single configuration. */
export const liveAccounts = (current: () => AccountDirectory): AccountDirectory => ({
  findByUsername: (username) => current().findByUsername(username),
  findBySubject: (subject) => current().findBySubject(subject),
  peekBySubject: (subject) => current().peekBySubject(subject),
  replacePassword: (known, hash) => current().replacePassword(known, hash),
})

/**
 * Hashes passwords with a memory-hard function off the event loop. Callers with an `address` take turns with others;
 * all callers without one share one turn.
 */
export interface PasswordHasher {
  /** Returns a PHC string. */
  hash(password: string, address?: string): Promise<string>
  /** Takes the same time when `hash` is undefined, and returns false. */
  verify(password: string, hash: string | undefined, address?: string): Promise<boolean>
  /** False for a hash that another product made, or earlier parameters. Replace it when its password is at hand. */
  isOwn(hash: string): boolean
}
