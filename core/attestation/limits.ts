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
  /** Attempts per principal at `/enrol` without a delay. */
  readonly principalFree: number
  /** Refused requests by limit. */
  readonly hits: Counts
  readonly log: Log
}

/**
 * Every method throws `RateLimited` and `Unavailable`. Limits apply to claimed values, so an unknown subject is
 * limited in the same way.
 */
export interface AttestationLimits {
  /** Limits one key from one address, so that someone who has seen a key cannot use up its owner's quota. */
  takeKey(jkt: string, address: string): Promise<void>
  /**
   * Limits one key from anywhere, once the request has proved possession: one challenge must not give many
   * signatures.
   */
  takeCompletion(jkt: string): Promise<void>
  /** Counted before a second factor is checked. */
  takePrincipal(principal: Principal): Promise<void>
  /** Forgets the principal's attempts after a success. */
  clearPrincipal(principal: Principal): Promise<void>
}

/** Entries per limit that one process remembers in a minute. Beyond that it asks the store each time. */
const maxRemembered = 50_000
/** Log lines per minute about subjects at a limit. Subjects are unverified, so a stranger can claim many. */
const maxLogged = 10

export const createAttestationLimits = (options: AttestationLimitOptions): AttestationLimits => {
  const { attempts, clock, principalFree, keyPerMinute, subjectPerMinute, hits, log } = options
  const logged = new MinuteMap<true>(maxLogged)

  const refuse = (limit: string, retryAfterSeconds: number): never => {
    hits.of(limit).value++
    throw attestationError('RateLimited', { reason: limit, retryAfterSeconds })
  }

  /** Logs one line a minute for each of the first subjects. */
  const logLimit = (limit: string, subject: string): void => {
    logged.enter(minuteOf(clock))
    if (logged.get(subject) === undefined && logged.set(subject, true))
      log.warn('A subject has reached a limit of attestation', { limit, subject })
  }

  /** Limits requests per minute. Callers at the usual pace of devices cost no write. */
  const limited = (namespace: string, perMinute: number) => {
    const shares = createMinuteShares({ attempts, clock, namespace, maxRemembered, beyond: 'ask' })
    return async (id: string, subject?: string): Promise<void> => {
      if (await shares.take(id, perMinute)) return
      if (subject !== undefined) logLimit(namespace, subject)
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
