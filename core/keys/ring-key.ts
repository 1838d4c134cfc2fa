import type { CallRecord } from './call-record.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyPurpose, PublishedKey, SigningKey } from './ports.js'

/** Milliseconds since the epoch. */
export interface Lifetime {
  readonly notBefore: number
  readonly notAfter: number
  /** When the last token that the key signed has expired everywhere. */
  readonly goneAt: number
}

/**
 * Whether a key may sign, its times aside. `proved`: yes. All others wait for a probe that succeeds: `unopened`, the
 * backend could not be asked yet, so the key is published only where it was before; `unproved`, it has signed no probe
 * yet; `quarantined`, a signature came that its published key does not verify; `refused`, the backend refuses to sign.
 */
export type KeyTrust = 'proved' | 'unopened' | 'unproved' | 'quarantined' | 'refused'

/** A key of the ring as long as it lives. What changes is changed by the ring alone. */
export interface RingKey extends Lifetime {
  readonly kid: string
  readonly alg: JwsAlg
  /** The name of the signer in the configuration. */
  readonly signer: string
  /** The backend's name for it. */
  readonly ref: string
  readonly purposes: readonly KeyPurpose[]
  /** `purposes`, and those that it had before: what it signed for them is still verified. */
  readonly acceptedFor: readonly KeyPurpose[]
  /** Later than at first, when it was published later than was foreseen. */
  notBefore: number
  /** Present where it was published before: what it signed is verified also while it is unopened. */
  readonly known: PublishedKey | undefined
  readonly calls: CallRecord
  /** How often it was quarantined. */
  quarantines: number
  trust: KeyTrust
  /** Milliseconds of the process's own clock at its last probe, whatever that showed. */
  probedAt?: number
  /** Why it is not trusted, or what its last probe failed with. */
  reason?: string
  /** Absent while it is unopened, and when it was gone already as the ring was opened. */
  opened?: OpenedKey
}

export interface OpenedKey {
  readonly signing: SigningKey
  readonly published: PublishedKey
  /** RFC 7638. */
  readonly thumbprint: string
}
