import { createHmac, randomBytes } from 'node:crypto'
import { epochSeconds, type Clock } from '../clock.js'
import { hashOpaqueToken } from '../opaque-token.js'
import { createSharedSecret } from '../oauth/shared-secret.js'
import type { EphemeralReplayGuard, RecordStore } from '../storage/ports.js'
import { isSameText } from '../oauth/same-text.js'

export interface EvidenceChallengeOptions {
  /** Of all replicas: what one hands out the others accept. */
  readonly secrets: RecordStore<string>
  readonly redeemed: EphemeralReplayGuard
  readonly clock: Clock
  readonly ttlSeconds: number
  readonly toleranceSeconds: number
}

/** Values for evidence that has to contain one of ours (`POST /challenge`). None is stored before it is used. */
export interface EvidenceChallenges {
  /** Throws `Unavailable`. */
  issue(): Promise<string>
  /** True once for a value of ours that has not expired, over all processes; false for anything else. Throws `Unavailable`. */
  redeem(value: string): Promise<boolean>
}

const randomLength = 16
const timeLength = 6
const form = /^[\w-]{72}$/

/** A random part, the time, and a MAC of both under a secret that all replicas share. */
export const createEvidenceChallenges = (options: EvidenceChallengeOptions): EvidenceChallenges => {
  const { redeemed, clock, ttlSeconds, toleranceSeconds } = options
  const secret = createSharedSecret(options.secrets, 'attestation_challenge')

  const complete = async (head: Buffer): Promise<string> => {
    const mac = createHmac('sha256', await secret())
      .update(head)
      .digest()
    return Buffer.concat([head, mac]).toString('base64url')
  }

  return {
    async issue() {
      const head = Buffer.concat([randomBytes(randomLength), Buffer.alloc(timeLength)])
      head.writeUIntBE(epochSeconds(clock), randomLength, timeLength)
      return complete(head)
    },
    async redeem(value) {
      if (!form.test(value)) return false
      const head = Buffer.from(value, 'base64url').subarray(0, randomLength + timeLength)
      if (!isSameText(await complete(head), value)) return false
      const issued = head.readUIntBE(randomLength, timeLength)
      const left = issued + ttlSeconds - epochSeconds(clock)
      if (left <= 0 || left > ttlSeconds + toleranceSeconds) return false
      // Another replica's clock may be behind, and take it for longer, or have taken it before ours says that it was issued.
      const earliest = (issued - toleranceSeconds) * 1000
      return redeemed.claim('evidence', hashOpaqueToken(value), left + toleranceSeconds, earliest)
    },
  }
}
