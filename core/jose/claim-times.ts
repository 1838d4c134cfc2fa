import { epochSeconds, type Clock } from '../clock.js'
import type { JsonObject } from '../json.js'

const maxJtiLength = 256

/** Whether `value` is a `jti` that can be stored: 1 to 256 characters (RFC 7519 §4.1.7). */
export const isJti = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= maxJtiLength

/** Seconds since the epoch, with or without a fraction (RFC 7519 §2). */
export const isNumericDate = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER

export interface TimeRules {
  readonly clock: Clock
  /** Allowed difference between the issuer's clock and ours. */
  readonly toleranceSeconds: number
}

/**
 * What is wrong with the times of a JWT (RFC 7519 §4.1.4 to §4.1.6), or undefined. `exp` is required; `iat` and `nbf`
 * are checked when present.
 */
export const findTimeFault = (
  { exp, iat = 0, nbf = 0 }: JsonObject,
  { clock, toleranceSeconds }: TimeRules,
): 'exp, iat or nbf is not a time' | 'not valid yet' | 'expired' | undefined => {
  if (!isNumericDate(exp) || !isNumericDate(iat) || !isNumericDate(nbf)) return 'exp, iat or nbf is not a time'
  const now = epochSeconds(clock)
  if (Math.max(iat, nbf) > now + toleranceSeconds) return 'not valid yet'
  return exp + toleranceSeconds <= now ? 'expired' : undefined
}
