import { epochSeconds, OAuthError, type Client, type Clock, type JsonObject } from '../../../core/api/index.js'

/** RFC 7523 §3 lets a server refuse an expiry "unreasonably far in the future". */
const maxAheadSeconds = 300
const maxJtiLength = 256
/** Seconds beyond any request's deadline. */
const underway = 30

export interface ClaimRules {
  readonly issuer: string
  readonly clock: Clock
  readonly toleranceSeconds: number
}

export const refusal = (reason: string): OAuthError =>
  new OAuthError('invalid_client', 'Client authentication failed.', { reason: `client assertion: ${reason}` })

const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** One audience, so that an assertion for one server is worth nothing at another (CVE-2025-27370). */
const checkAudience = (aud: unknown, client: Client, issuer: string): void => {
  // FAPI 2.0 Security Profile §5.3.2.1: the issuer, as a string.
  const strict = client.security_profile === 'fapi2'
  const audience: unknown = !strict && Array.isArray(aud) && aud.length === 1 ? aud[0] : aud
  if (audience === issuer || (!strict && audience === `${issuer}/token`)) return
  throw refusal('aud is not this server')
}

/** The claims of RFC 7523 §3. Returns what the replay guard needs; throws `invalid_client`. */
export const checkClaims = (
  claims: JsonObject,
  client: Client,
  { issuer, clock, toleranceSeconds }: ClaimRules,
): { readonly jti: string; readonly ttlSeconds: number; readonly earliest: number } => {
  const { iss, sub, aud, exp, nbf, iat, jti } = claims
  if (iss !== client.client_id || sub !== client.client_id) throw refusal('iss or sub is not the client')
  checkAudience(aud, client, issuer)
  const now = epochSeconds(clock)
  if (!isTime(exp)) throw refusal('exp is missing or not a time')
  if (exp + toleranceSeconds <= now) throw refusal('expired')
  if (exp > now + maxAheadSeconds + toleranceSeconds) throw refusal('exp is too far ahead')
  for (const begin of [nbf, iat]) {
    if (begin === undefined) continue
    if (!isTime(begin)) throw refusal('nbf or iat is not a time')
    if (begin > now + toleranceSeconds) throw refusal('not valid yet')
  }
  if (typeof jti !== 'string' || jti === '' || jti.length > maxJtiLength) throw refusal('jti is missing or too long')
  // What any replica checks above, whose clock may be ahead of ours.
  const begun = Math.max(exp - maxAheadSeconds, ...[nbf, iat].filter(isTime)) - 2 * toleranceSeconds
  // To the end of the time in which any replica takes it, whose clock may be behind ours, and ends what it took.
  const end = exp + 2 * toleranceSeconds + underway
  return { jti, ttlSeconds: end - now, earliest: begun * 1000 }
}
