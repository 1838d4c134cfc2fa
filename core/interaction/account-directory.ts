import type { JsonObject } from '../json.js'

/** An account as `plugins/login/password` knows it: from the configuration's `accounts:` or from the records store. */
export interface AccountRecord {
  readonly username: string
  readonly sub: string
  /** PHC string of a memory-hard hash (Argon2id, RFC 9106). */
  readonly password_hash: string
  readonly claims: JsonObject
  readonly disabled?: boolean
}

/** The accounts of this deployment. Throws `Unavailable`. */
export interface AccountDirectory {
  findByUsername(username: string): Promise<AccountRecord | undefined>
  findBySubject(subject: string): Promise<AccountRecord | undefined>
}

/** Memory-hard password hashing off the event loop. */
export interface PasswordHasher {
  /** A PHC string. */
  hash(password: string): Promise<string>
  /** Spends the same time when `hash` is undefined, and answers false. */
  verify(password: string, hash: string | undefined): Promise<boolean>
}
