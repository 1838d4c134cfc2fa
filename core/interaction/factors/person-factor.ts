import type { StoredSecret } from '../../totp/stored-secret.js'

/**
 * A factor, other than a password, with which a person proves who they are. It is stored durably, because a person
 * who loses it is locked out.
 */
export type PersonFactor = Passkey | TotpFactor | RecoveryCodes

interface Made {
  /** Seconds since the epoch. */
  readonly createdAt: number
  /** When it was last used to sign in, in seconds since the epoch. */
  readonly lastUsedAt?: number
}

/** A public key credential of WebAuthn (Web Authentication Level 3 §4, credential record). */
export interface Passkey extends Made {
  readonly kind: 'passkey'
  /** The credential id, base64url. */
  readonly credentialId: string
  /** The COSE_Key (RFC 9052 §7), base64url. */
  readonly publicKey: string
  /** `signCount` of the last sign-in. 0 means that the authenticator has no counter. */
  readonly counter: number
  /** The name that the person gave it. */
  readonly name: string
  /** It can be copied to other devices (`BE`). */
  readonly backupEligible: boolean
  /** It was backed up when it was last used (`BS`). */
  readonly backedUp: boolean
  /** How the browser reaches it: `internal`, `hybrid`, `usb` … */
  readonly transports: readonly string[]
}

/** The secret of an authenticator app (RFC 6238). */
export interface TotpFactor extends Made, StoredSecret {
  readonly kind: 'totp'
  /** The newest time step that was used. No step up to it is accepted again. */
  readonly lastStep: number
}

/** Codes for a person who has lost the second factor. Each can be used once. */
export interface RecoveryCodes extends Made {
  readonly kind: 'recovery_codes'
  /** Hashes of the unused codes. */
  readonly hashes: readonly string[]
}
