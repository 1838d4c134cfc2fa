import type { Clock } from '../../clock.js'
import { addressBucket } from '../../address-bucket.js'
import { minutePolicy } from '../../limits/minute-policy.js'
import { minuteOf } from '../../limits/minute-shares.js'
import type { AttemptLimiter, AttemptPolicy } from '../../storage/ports.js'

/**
 * One person in any number of sessions: ten devices an hour cost no delay, and a guesser is limited to four codes an
 * hour of 20^8 (RFC 8628 §5.1).
 */
const perPerson: AttemptPolicy = { free: 20, baseDelaySeconds: 2, maxDelaySeconds: 900, forgetAfterSeconds: 3600 }

/**
 * Many people may share an address, and one person's success does not clear the counts of others, so this slows
 * guessing and locks nobody out.
 */
const perAddress: AttemptPolicy = { free: 100, baseDelaySeconds: 1, maxDelaySeconds: 15, forgetAfterSeconds: 900 }

/**
 * However many people and addresses guess together, at 300 codes a minute one of 100 waiting codes is found in a year
 * and a half.
 */
const perService = minutePolicy(300)

/** A request without a secret costs a record each time. A household that switches on all its devices stays below. */
const startsPerAddress = minutePolicy(60)

/**
 * Counts one typed user code, right or wrong: a right one clears nothing, or a guesser could type one of their own in
 * between. Returns the seconds to wait, or 0. Throws `Unavailable`.
 */
export const takeUserCodeAttempt = async (
  attempts: AttemptLimiter,
  subject: string,
  address: string,
  clock: Clock,
): Promise<number> => {
  const bucket = addressBucket(address)
  const byAddress = bucket && (await attempts.take('user_code_address', bucket, perAddress))
  if (byAddress && !byAddress.allowed) return byAddress.retryAfterSeconds
  const byPerson = await attempts.take('user_code', subject, perPerson)
  if (!byPerson.allowed) return byPerson.retryAfterSeconds
  // Comes last, so that callers already refused do not use up the common limit.
  return (await attempts.take('user_code_minute', String(minuteOf(clock)), perService)).retryAfterSeconds
}

/**
 * Gives back the attempt of a person who decides about a code, because typing it was already counted; a sign-in thus
 * counts once. Counts of others and earlier guesses of the same person stay. Throws `Unavailable`.
 */
export const giveBackUserCodeAttempt = async (
  attempts: AttemptLimiter,
  subject: string,
  address: string,
): Promise<void> => {
  const bucket = addressBucket(address)
  await Promise.all([
    bucket !== undefined && attempts.giveBack('user_code_address', bucket),
    attempts.giveBack('user_code', subject),
  ])
}

/** Counts one device code for a public client. Returns the seconds to wait, or 0. Throws `Unavailable`. */
export const takeDeviceStart = async (attempts: AttemptLimiter, address: string, clock: Clock): Promise<number> => {
  const bucket = addressBucket(address)
  if (bucket === undefined) return 0
  return (await attempts.take('device_start', `${bucket} ${String(minuteOf(clock))}`, startsPerAddress))
    .retryAfterSeconds
}
