import type { CallRecord } from './call-record.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyPurpose, PublishedKey, SigningKey } from './ports.js'

/** Milliseconds since the epoch. */
export interface Lifetime {
  readonly notBefore: number
  readonly notAfter: number
  /** When the last token signed by the key has expired everywhere. */
  readonly goneAt: number
}

/**
 * Whether a key may sign, apart from its times. Only `proved` may. All others wait for a successful probe: `unopened`
 * keys could not be reached yet and are published only if they were before; `unproved` keys have not signed a probe
 * yet; `quarantined` keys made a signature that their published key does not verify; for `refused` keys the backend
 * refuses to sign.
 */
export type KeyStatus = 'proved' | 'unopened' | 'unproved' | 'quarantined' | 'refused'

/** A key of the ring. Only the ring changes its mutable members. */
export interface RingKey extends Lifetime {
  readonly kid: string
  readonly alg: JwsAlg
  /** The name of the signer in the configuration. */
  readonly signer: string
  /** The backend's name for the key. */
  readonly ref: string
  readonly purposes: readonly KeyPurpose[]
  /** `purposes` and former purposes. Signatures for any of them are still verified. */
  readonly acceptedFor: readonly KeyPurpose[]
  /** Later than configured when the key was published later than planned. */
  notBefore: number
  /** Present if it was published before. Its signatures are then verified even while it is unopened. */
  readonly known: PublishedKey | undefined
  readonly calls: CallRecord
  /** How often it was quarantined. */
  quarantines: number
  trust: KeyStatus
  /** When it was last probed, whatever the result, in milliseconds of the process's monotonic clock. */
  probedAt?: number
  /**
   * True until the key log has it: nobody could check a key that was published before. It signs for the log alone, whose
   * own key must be able to sign its entry.
   */
  isWithheld: boolean
  /** Why it is not trusted, or the error of its last probe. */
  reason?: string
  /** Absent while it is unopened, and if it was already gone when the ring was opened. */
  opened?: OpenedKey
}

export interface OpenedKey {
  readonly signing: SigningKey
  readonly published: PublishedKey
  /** RFC 7638. */
  readonly thumbprint: string
}
