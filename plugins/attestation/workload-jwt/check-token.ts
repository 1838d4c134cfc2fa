import { hash } from 'node:crypto'
import { epochSeconds, type Clock, type CompactJws } from '../../../core/api/index.js'

export interface TokenRules {
  readonly issuer: string
  readonly audience: string
  readonly maxAgeSeconds: number
  readonly toleranceSeconds: number
  readonly clock: Clock
}

/** What the replay guard needs. */
export interface CheckedToken {
  readonly id: string
  readonly ttlSeconds: number
}

/** RFC 8725 §3.11: a token that says it is something else is no token of a workload. */
const types: readonly unknown[] = [undefined, 'JWT', 'jwt']
const maxJtiLength = 256

const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** The claims of a token that was not verified yet. Returns why it is refused, in constant words, or what makes it single use. */
export const checkToken = ({ header, payload, signingInput }: CompactJws, rules: TokenRules): string | CheckedToken => {
  const { iss, aud, exp, iat, nbf, jti } = payload
  const { toleranceSeconds: tolerance } = rules
  if (!types.includes(header['typ'])) return 'typ is of another token'
  if (iss !== rules.issuer) return 'iss is another issuer'
  // For us alone: any other recipient could enrol with it.
  const audience: unknown = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud
  if (audience !== rules.audience) return 'aud is not this server alone'
  const now = epochSeconds(rules.clock)
  if (!isTime(exp) || !isTime(iat) || (nbf !== undefined && !isTime(nbf))) return 'exp, iat or nbf is not a time'
  const end = Math.min(exp, iat + rules.maxAgeSeconds) + tolerance
  if (end <= now) return exp + tolerance <= now ? 'expired' : 'too old'
  if (iat > now + tolerance || (nbf ?? iat) > now + tolerance) return 'not valid yet'
  if (jti !== undefined && (typeof jti !== 'string' || jti === '' || jti.length > maxJtiLength))
    return 'jti is not a valid id'
  // Of what is signed, not of the whole: an ECDSA signature has a second spelling, for which no key is needed.
  const id = jti === undefined ? `digest:${hash('sha256', Buffer.from(signingInput), 'base64url')}` : `jti:${jti}`
  // Whole seconds on both sides: one more, so that the guard outlasts the token.
  return { id, ttlSeconds: end - now + 1 }
}
