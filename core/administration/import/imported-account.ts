import type { JsonObject } from '../../json.js'
import type { TotpForm } from '../../totp/one-time-password.js'

/** An account of another product, as a reader of its export understood it. */
export interface ImportedAccount {
  /** Its position in the file: `line 12`, `record 3`. */
  readonly place: string
  readonly username: string
  /** The default is a random UUID. */
  readonly sub?: string | undefined
  readonly claims: JsonObject
  readonly disabled?: boolean
  /** The hash in the notation of the product. */
  readonly passwordHash?: string | undefined
  /** A password that is not hashed yet. */
  readonly password?: string | undefined
  /** The secret of an authenticator app. */
  readonly totp?: (TotpForm & { readonly secret: Uint8Array }) | undefined
}

/** An entry of a file that is no account that could be imported. */
export interface UnreadableEntry {
  readonly place: string
  readonly reason: string
}
