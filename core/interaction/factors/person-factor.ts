import type { StoredSecret } from '../../totp/stored-secret.js'

/** What a person proves who they are with beside a password. Durable: who loses it is locked out. */
export type PersonFactor = Passkey | TotpFactor | RecoveryCodes

interface Made {
  /** Seconds since the epoch. */
  readonly createdAt: number
  /** Of the last sign-in with it: seconds since the epoch. */
  readonly lastUsedAt?: number
}

/** A public key credential of WebAuthn (Web Authentication Level 3 §4, credential record). */
export interface Passkey extends Made {
  readonly kind: 'passkey'
  /** Credential id, base64url. */
  readonly credentialId: string
  /** COSE_Key (RFC 9052 §7), base64url. */
  readonly publicKey: string
  /** `signCount` of the last sign-in; 0: the authenticator has none. */
  readonly counter: number
  /** As the person calls it. */
  readonly name: string
  /** It can be copied to other devices (`BE`). */
  readonly backupEligible: boolean
  /** It was, when it was last used (`BS`). */
  readonly backedUp: boolean
  /** How the browser reaches it: `internal`, `hybrid`, `usb` … */
  readonly transports: readonly string[]
}

/** The secret of an authenticator app (RFC 6238). */
export interface TotpFactor extends Made, StoredSecret {
  readonly kind: 'totp'
  /** The newest step that was used: no other up to it can be. */
  readonly lastStep: number
}

/** What a person signs in with who has lost the second factor, each once. */
export interface RecoveryCodes extends Made {
  readonly kind: 'recovery_codes'
  /** Of those that are left. */
  readonly hashes: readonly string[]
}
