import type { Clock } from '../clock.js'
import { addressBucket } from '../address-bucket.js'
import { MinuteMap } from '../limits/minute-map.js'
import { createMinuteShares, minuteOf, secondsToNextMinute } from '../limits/minute-shares.js'
import { hashOpaqueToken } from '../opaque-token.js'
import type { Counts } from '../observe/counts.js'
import type { Log } from '../observe/log.js'
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
  readonly log: Log
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

/** What one process remembers of each limit in one minute; for what comes then, it asks the store each time. */
const mostRemembered = 50_000
/** Lines about subjects at a limit in one minute: subjects are claimed, and a stranger can claim many. */
const mostTold = 10

export const createAttestationLimits = (options: AttestationLimitOptions): AttestationLimits => {
  const { attempts, clock, principalFree, keyPerMinute, subjectPerMinute, hits, log } = options
  const told = new MinuteMap<true>(mostTold)

  const refuse = (limit: string, retryAfterSeconds: number): never => {
    hits.of(limit).value++
    throw attestationError('RateLimited', { reason: limit, retryAfterSeconds })
  }

  /** One line a minute for each of the first subjects. */
  const tell = (limit: string, subject: string): void => {
    told.enter(minuteOf(clock))
    if (told.get(subject) === undefined && told.set(subject, true))
      log.warn('A subject has reached a limit of attestation', { limit, subject })
  }

  /** So many in each minute. Who asks as seldom as devices do costs no write. */
  const limited = (namespace: string, perMinute: number) => {
    const shares = createMinuteShares({ attempts, clock, namespace, mostRemembered, beyond: 'ask' })
    return async (id: string, subject?: string): Promise<void> => {
      if (await shares.take(id, perMinute)) return
      if (subject !== undefined) tell(namespace, subject)
      refuse(namespace, secondsToNextMinute(clock))
    }
  }
  const takeKey = limited('attestation_key', keyPerMinute)
  const takeSubject = limited('attestation_subject', subjectPerMinute)
  const takeCompletion = limited('attestation_completion_key', keyPerMinute)

  const guesses: AttemptPolicy = {
    free: principalFree,
    baseDelaySeconds: 1,
    maxDelaySeconds: 30,
    forgetAfterSeconds: 3600,
  }

  return {
    takeKey: (jkt, address) => takeKey(`${jkt}.${addressBucket(address) ?? ''}`),
    takeCompletion: (jkt) => takeCompletion(jkt),
    async takePrincipal(principal) {
      await takeSubject(hashOpaqueToken(principal.subject), principal.subject)
      const next = await attempts.take('attestation_principal', principalDigest(principal), guesses)
      if (!next.allowed) refuse('attestation_principal', next.retryAfterSeconds)
    },
    clearPrincipal: (principal) => attempts.clear('attestation_principal', principalDigest(principal)),
  }
}
