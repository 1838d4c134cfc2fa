import type { JsonObject } from '../json.js'
import type { PublicJwk } from '../jose/jwk.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import type { OneTimeStore } from '../storage/ports.js'
import { attestationError } from './errors.js'
import type { EvidenceClaims } from './evidence-claims.js'
import type { Principal, StatusQuestion } from './ports.js'

/** What a challenge stands for: all that its completion needs, and nothing of how it was come by. */
export interface ChallengeRecord {
  readonly step: StatusQuestion['step']
  readonly principal: Principal
  readonly jwk: PublicJwk
  readonly jkt: string
  /** What the attestation will carry, without `status`. */
  readonly attributes: JsonObject
  /** When the full enrolment was: seconds since the epoch. */
  readonly enrolledAt: number
  /** Absent: without evidence, or of a version that asked for none. */
  readonly evidence?: EvidenceClaims
  /** Seconds since the epoch. */
  readonly issuedAt: number
}

/** A challenge that can still be completed. */
export interface OpenChallenge {
  /** Its hash. */
  readonly id: string
  readonly record: ChallengeRecord
}

export interface Challenges {
  readonly ttlSeconds: number
  /** Throws `Unavailable`. */
  issue(record: ChallengeRecord): Promise<string>
  /** Throws `InvalidChallenge` for one that is used, expired or unknown, `Unavailable`. */
  get(challenge: string): Promise<OpenChallenge>
  /** Of N callers one comes back; the others get `InvalidChallenge`. Throws `Unavailable`. */
  redeem(open: OpenChallenge): Promise<void>
}

const invalid = (reason: string): Error => attestationError('InvalidChallenge', { reason })

export const createChallenges = (store: OneTimeStore<ChallengeRecord>, ttlSeconds: number): Challenges => ({
  ttlSeconds,
  async issue(record) {
    const challenge = newOpaqueToken()
    await store.put(hashOpaqueToken(challenge), record, ttlSeconds)
    return challenge
  },
  async get(challenge) {
    if (!isOpaqueToken(challenge)) throw invalid('not issued here')
    const id = hashOpaqueToken(challenge)
    const record = await store.findUnused(id)
    if (record === undefined) throw invalid('used, expired or unknown')
    return { id, record }
  },
  async redeem({ id }) {
    const { outcome } = await store.redeem(id)
    if (outcome !== 'won') throw invalid('another request used it first')
  },
})
