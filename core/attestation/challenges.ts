import type { JsonObject } from '../json.js'
import type { PublicJwk } from '../jose/jwk.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import type { OneTimeStore } from '../storage/ports.js'
import { attestationError } from './errors.js'
import type { EvidenceClaims } from './evidence-claims.js'
import type { Principal, StatusQuestion } from './ports.js'

/** What a challenge stands for: everything that completing it needs, and nothing about how it was obtained. */
export interface ChallengeRecord {
  readonly step: StatusQuestion['step']
  readonly principal: Principal
  readonly jwk: PublicJwk
  readonly jkt: string
  /** What the attestation will carry, without `status`. */
  readonly attributes: JsonObject
  /** When the full enrolment took place, in seconds since the epoch. */
  readonly enrolledAt: number
  /** Absent without evidence, and in records of versions that did not ask for any. */
  readonly evidence?: EvidenceClaims
  /** Seconds since the epoch. */
  readonly issuedAt: number
}

/** A challenge that can still be completed. */
export interface OpenChallenge {
  /** The hash of the challenge. */
  readonly id: string
  readonly record: ChallengeRecord
}

export interface Challenges {
  readonly ttlSeconds: number
  /** Throws `Unavailable`. */
  issue(record: ChallengeRecord): Promise<string>
  /** Throws `InvalidChallenge` for one that is used, expired or unknown, and `Unavailable`. */
  get(challenge: string): Promise<OpenChallenge>
  /** Resolves for one of N callers; the others get `InvalidChallenge`. Throws `Unavailable`. */
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
