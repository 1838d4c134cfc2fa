import { addressBucket } from '../../interaction/address-bucket.js'
import type { AttemptLimiter, AttemptPolicy } from '../../storage/ports.js'

/**
 * One person, in however many sessions: ten devices an hour cost no waiting, and a guesser is down to four codes an hour
 * of 20^8 (RFC 8628 §5.1).
 */
const perPerson: AttemptPolicy = { free: 20, baseDelaySeconds: 2, maxDelaySeconds: 900, forgetAfterSeconds: 3600 }

/** Many people may share an address, and nothing but time clears it: so it slows guessing and locks nobody out. */
const perAddress: AttemptPolicy = { free: 100, baseDelaySeconds: 1, maxDelaySeconds: 15, forgetAfterSeconds: 900 }

/**
 * Counts one user code that was typed, right or wrong: a right one clears nothing, or a guesser would type one of his own
 * now and then. Gives the seconds to wait; 0: go on. Throws `Unavailable`.
 */
export const takeUserCodeAttempt = async (
  attempts: AttemptLimiter,
  subject: string,
  address: string,
): Promise<number> => {
  const bucket = addressBucket(address)
  const byAddress = bucket && (await attempts.take('user_code_address', bucket, perAddress))
  if (byAddress && !byAddress.allowed) return byAddress.retryAfterSeconds
  return (await attempts.take('user_code', subject, perPerson)).retryAfterSeconds
}
