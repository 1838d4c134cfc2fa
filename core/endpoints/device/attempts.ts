import type { Clock } from '../../clock.js'
import { addressBucket } from '../../address-bucket.js'
import { minutePolicy } from '../../limits/minute-policy.js'
import { minuteOf } from '../../limits/minute-shares.js'
import type { AttemptLimiter, AttemptPolicy } from '../../storage/ports.js'

/**
 * One person, in however many sessions: ten devices an hour cost no waiting, and a guesser is down to four codes an hour
 * of 20^8 (RFC 8628 §5.1).
 */
const perPerson: AttemptPolicy = { free: 20, baseDelaySeconds: 2, maxDelaySeconds: 900, forgetAfterSeconds: 3600 }

/** Many people may share an address, and nobody's success clears what others counted: so it slows guessing and locks nobody out. */
const perAddress: AttemptPolicy = { free: 100, baseDelaySeconds: 1, maxDelaySeconds: 15, forgetAfterSeconds: 900 }

/** However many people and addresses guess together: at 300 codes a minute one of 100 that wait is found in a year and a half. */
const perService = minutePolicy(300)

/** What asks without a secret costs a record each time; a household that switches on all it has stays below. */
const startsPerAddress = minutePolicy(60)

/**
 * Counts one user code that was typed, right or wrong: a right one clears nothing, or a guesser would type one of his own
 * now and then. Gives the seconds to wait; 0: go on. Throws `Unavailable`.
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
  // Last, so that who is refused already fills up nothing.
  return (await attempts.take('user_code_minute', String(minuteOf(clock)), perService)).retryAfterSeconds
}

/**
 * Gives back the attempt of a person who decides about a code: typing it was counted already, so that a sign-in counts
 * once. What others counted, and earlier guesses of the same person, stay. Throws `Unavailable`.
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

/** Counts one device code that a public client asks for. Gives the seconds to wait; 0: go on. Throws `Unavailable`. */
export const takeDeviceStart = async (attempts: AttemptLimiter, address: string, clock: Clock): Promise<number> => {
  const bucket = addressBucket(address)
  if (bucket === undefined) return 0
  return (await attempts.take('device_start', `${bucket} ${String(minuteOf(clock))}`, startsPerAddress))
    .retryAfterSeconds
}
