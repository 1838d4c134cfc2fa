import type { JsonObject } from '../json.js'

/** An account as `plugins/login/password` knows it: from the configuration's `accounts:` or from the records store. */
export interface AccountRecord {
  readonly username: string
  readonly sub: string
  /** PHC string of a memory-hard hash (Argon2id, RFC 9106). */
  readonly password_hash: string
  readonly claims: JsonObject
  readonly disabled?: boolean
  /** It is in the configuration, which alone changes its password. Never in the store. */
  readonly fixed?: true
}

/** The accounts of this deployment. Throws `Unavailable`. */
export interface AccountDirectory {
  findByUsername(username: string): Promise<AccountRecord | undefined>
  findBySubject(subject: string): Promise<AccountRecord | undefined>
  /** An account of the configuration as the file has it. An operator may have disabled it since: `findBySubject` knows. */
  peekBySubject(subject: string): AccountRecord | undefined
  /**
   * Gives an account of the store another password, as a PHC string. One atomic step: true for the one caller whose `known` is
   * still the record's `password_hash`; false when the password is another one by now, and for an account that has gone, is
   * disabled, or is in the configuration. Ends nothing that sign-ins have opened.
   */
  replacePassword(known: AccountRecord, password_hash: string): Promise<boolean>
}

/** The accounts of the configuration that is in force: plugins live longer than one. */
export const liveAccounts = (current: () => AccountDirectory): AccountDirectory => ({
  findByUsername: (username) => current().findByUsername(username),
  findBySubject: (subject) => current().findBySubject(subject),
  peekBySubject: (subject) => current().peekBySubject(subject),
  replacePassword: (known, hash) => current().replacePassword(known, hash),
})

/** Memory-hard password hashing off the event loop. Callers with an `address` take turns with others; those without one are one. */
export interface PasswordHasher {
  /** A PHC string. */
  hash(password: string, address?: string): Promise<string>
  /** Spends the same time when `hash` is undefined, and answers false. */
  verify(password: string, hash: string | undefined, address?: string): Promise<boolean>
}
