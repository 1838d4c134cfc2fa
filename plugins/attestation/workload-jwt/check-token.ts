import { hash } from 'node:crypto'
import { epochSeconds } from '../../../core/api/index.js'
import {
  findTimeFault,
  isJti,
  isNumericDate,
  isOfType,
  type CompactJws,
  type TimeRules,
} from '../../../core/api/internal.js'

export interface TokenRules extends TimeRules {
  readonly issuer: string
  readonly audience: string
  readonly maxAgeSeconds: number
}

/** The input of the replay guard. */
export interface CheckedToken {
  readonly id: string
  readonly ttlSeconds: number
}

/** RFC 8725 §3.11: a token with another type is not a workload's token. */
const types: readonly unknown[] = [undefined, 'JWT']

/**
 * Checks the claims of a token that is not verified yet. Returns why it is refused, in constant words, or what makes
 * it single-use.
 */
export const checkToken = ({ header, payload, signingInput }: CompactJws, rules: TokenRules): string | CheckedToken => {
  const { iss, aud, exp, iat, jti } = payload
  if (!isOfType(header['typ'], ...types)) return 'typ is of another token'
  if (iss !== rules.issuer) return 'iss is another issuer'
  // Only for us, because any other recipient could enrol with it.
  const audience: unknown = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud
  if (audience !== rules.audience) return 'aud is not this server alone'
  if (!isNumericDate(exp) || !isNumericDate(iat)) return 'exp, iat or nbf is not a time'
  const fault = findTimeFault(payload, rules)
  if (fault !== undefined) return fault
  const now = epochSeconds(rules.clock)
  const end = Math.min(exp, iat + rules.maxAgeSeconds) + rules.toleranceSeconds
  if (end <= now) return 'too old'
  if (jti !== undefined && !isJti(jti)) return 'jti is not a valid id'
  // A hash of the signing input, not of the token: an ECDSA signature has a second valid form, which can be computed
  // without the key.
  const id = jti === undefined ? `digest:${hash('sha256', Buffer.from(signingInput), 'base64url')}` : `jti:${jti}`
  // Both are whole seconds, so one is added for the guard to outlast the token.
  return { id, ttlSeconds: Math.ceil(end) - now + 1 }
}
