import { createHmac, randomBytes } from 'node:crypto'
import { epochSeconds, type Clock } from '../clock.js'
import { hashOpaqueToken } from '../opaque-token.js'
import type { JsonObject } from '../json.js'
import { createSharedSecret } from '../oauth/clients/shared-secret.js'
import type { EphemeralReplayGuard, RecordLookup, RecordStore } from '../storage/ports.js'
import { isSameText } from '../oauth/same-text.js'

export interface EvidenceChallengeOptions {
  /** Shared by all replicas, so that each accepts the challenges of the others. */
  readonly secrets: RecordStore<string>
  readonly redeemed: EphemeralReplayGuard
  /** Values returned after an outage, by hash, with the holder they are reserved for. */
  readonly returned: RecordLookup<JsonObject>
  readonly clock: Clock
  readonly ttlSeconds: number
  readonly toleranceSeconds: number
}

/** Challenges of ours for evidence to contain (`POST /challenge`). Nothing is stored before one is used. */
export interface EvidenceChallenges {
  /** Throws `Unavailable`. */
  issue(): Promise<string>
  /** Whether the value is ours and has not expired. It may have been redeemed. Throws `Unavailable`. */
  isTimely(value: string): Promise<boolean>
  /**
   * Returns true once, over all processes, for an unexpired value of ours, and false for anything else. A value that
   * was returned to `holder` is accepted once more from that holder. Throws `Unavailable`.
   */
  redeem(value: string, holder?: string): Promise<boolean>
  /** Undoes `redeem` for the holder only, when the operation it was redeemed for failed. Throws `Unavailable`. */
  giveBack(value: string, holder: string): Promise<void>
}

const randomLength = 16
const timeLength = 6
const form = /^[\w-]{72}$/

/** A value consists of a random part, the time, and a MAC of both under a secret shared by all replicas. */
export const createEvidenceChallenges = (options: EvidenceChallengeOptions): EvidenceChallenges => {
  const { redeemed, returned, clock, ttlSeconds, toleranceSeconds } = options
  const secret = createSharedSecret(options.secrets, 'attestation_challenge')

  const complete = async (head: Buffer): Promise<string> => {
    const mac = createHmac('sha256', await secret())
      .update(head)
      .digest()
    return Buffer.concat([head, mac]).toString('base64url')
  }

  /** Times in seconds. Undefined for a value that is expired or not ours. */
  const read = async (value: string): Promise<{ readonly issued: number; readonly left: number } | undefined> => {
    if (!form.test(value)) return undefined
    const head = Buffer.from(value, 'base64url').subarray(0, randomLength + timeLength)
    if (!isSameText(await complete(head), value)) return undefined
    const issued = head.readUIntBE(randomLength, timeLength)
    const left = issued + ttlSeconds - epochSeconds(clock)
    return left <= 0 || left > ttlSeconds + toleranceSeconds ? undefined : { issued, left }
  }

  const returnId = (id: string, holder: string): string => hashOpaqueToken(`${id} ${holder}`)

  return {
    async issue() {
      const head = Buffer.concat([randomBytes(randomLength), Buffer.alloc(timeLength)])
      head.writeUIntBE(epochSeconds(clock), randomLength, timeLength)
      return complete(head)
    },
    isTimely: async (value) => (await read(value)) !== undefined,
    async redeem(value, holder) {
      const times = await read(value)
      if (times === undefined) return false
      // Another replica's clock may be behind: it may accept the value for longer, or have accepted it before the
      // time of issue on our clock.
      const earliest = (times.issued - toleranceSeconds) * 1000
      const id = hashOpaqueToken(value)
      if (await redeemed.claim('evidence', id, times.left + toleranceSeconds, earliest)) return true
      return holder !== undefined && (await returned.remove(returnId(id, holder)))
    },
    async giveBack(value, holder) {
      const times = await read(value)
      if (times === undefined) return
      const ttlSeconds = times.left + toleranceSeconds
      await returned.put(returnId(hashOpaqueToken(value), holder), { returned: true }, { ttlSeconds })
    },
  }
}
