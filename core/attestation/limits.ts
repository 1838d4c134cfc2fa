import type { Clock } from '../clock.js'
import { addressBucket } from '../address-bucket.js'
import { minutePolicy } from '../oauth/minute-policy.js'
import { hashOpaqueToken } from '../opaque-token.js'
import type { Counts } from '../observe/counts.js'
import type { AttemptLimiter, AttemptPolicy } from '../storage/ports.js'
import { attestationError } from './errors.js'
import type { Principal } from './ports.js'
import { principalDigest } from './principal-digest.js'

export interface AttestationLimitOptions {
  readonly attempts: AttemptLimiter
  readonly clock: Clock
  readonly keyPerMinute: number
  readonly subjectPerMinute: number
  /** Attempts of one principal at `/enrol` that cost no waiting. */
  readonly principalFree: number
  /** Requests that were refused, by limit. */
  readonly hits: Counts
}

/** Every member throws `RateLimited` and `Unavailable`. Limits are on what is claimed: an unknown subject is limited alike. */
export interface AttestationLimits {
  /** Of one key from one address, so that nobody who has seen a key can use up its owner's share. */
  takeKey(jkt: string, address: string): Promise<void>
  /** Of one key wherever it is, once the request has proved it: one challenge is no leave to have many signatures. */
  takeCompletion(jkt: string): Promise<void>
  /** Before a second factor is asked. */
  takePrincipal(principal: Principal): Promise<void>
  /** Forgets the principal's attempts, after a success. */
  clearPrincipal(principal: Principal): Promise<void>
}

const windowSeconds = 60

/** What one process remembers at most; whoever comes then is counted in the store. */
const maxRemembered = 50_000

/** Counts within this process and one minute. */
const createLocalShare = () => {
  let counts = new Map<string, number>()
  let current = NaN
  return (id: string, minute: number, most: number): boolean => {
    if (minute !== current) {
      counts = new Map()
      current = minute
    }
    const count = counts.get(id) ?? 0
    if (count >= most || (count === 0 && counts.size >= maxRemembered)) return false
    counts.set(id, count + 1)
    return true
  }
}

export const createAttestationLimits = (options: AttestationLimitOptions): AttestationLimits => {
  const { attempts, clock, principalFree, keyPerMinute, hits } = options

  const takeHere = createLocalShare()

  const refuse = (limit: string, retryAfterSeconds: number): never => {
    hits.of(limit).value++
    throw attestationError('RateLimited', { reason: limit, retryAfterSeconds })
  }

  /**
   * So many in each minute, and then none until the next: an id lives for its minute alone. Each process lets a tenth pass
   * on its own, so that who asks as seldom as devices do costs no write.
   */
  const takeOfMinute = async (namespace: string, id: string, most: number): Promise<void> => {
    const seconds = clock() / 1000
    const minute = Math.floor(seconds / windowSeconds)
    const own = Math.floor(most / 10)
    if (takeHere(`${namespace}.${id}`, minute, own)) return
    const { allowed } = await attempts.take(namespace, `${id}.${String(minute)}`, minutePolicy(most - own))
    if (!allowed) refuse(namespace, (minute + 1) * windowSeconds - seconds)
  }

  const guesses: AttemptPolicy = {
    free: principalFree,
    baseDelaySeconds: 1,
    maxDelaySeconds: 30,
    forgetAfterSeconds: 3600,
  }

  return {
    takeKey: (jkt, address) => takeOfMinute('attestation_key', `${jkt}.${addressBucket(address) ?? ''}`, keyPerMinute),
    takeCompletion: (jkt) => takeOfMinute('attestation_completion_key', jkt, keyPerMinute),
    async takePrincipal(principal) {
      await takeOfMinute('attestation_subject', hashOpaqueToken(principal.subject), options.subjectPerMinute)
      const next = await attempts.take('attestation_principal', principalDigest(principal), guesses)
      if (!next.allowed) refuse('attestation_principal', next.retryAfterSeconds)
    },
    clearPrincipal: (principal) => attempts.clear('attestation_principal', principalDigest(principal)),
  }
}
