import { epochSeconds, OAuthError, type Client, type JsonObject } from '../../../core/api/index.js'
import { findTimeFault, isFapi, isJti, isNumericDate, type TimeRules } from '../../../core/api/internal.js'

/** Seconds beyond any request's deadline. */
const maxRequestSeconds = 30
/** Maximum seconds until `exp` for a client with `fapi2`. */
const longestForFapi = 300

export interface ClaimRules extends TimeRules {
  readonly issuer: string
  /** The base URLs of endpoints. */
  readonly endpointBases: readonly string[]
  /** How far ahead `exp` may be. RFC 7523 §3 lets a server refuse one that is "unreasonably far in the future". */
  readonly maxAgeSeconds: number
}

export const refusal = (reason: string): OAuthError =>
  new OAuthError('invalid_client', 'Client authentication failed.', { reason: `client assertion: ${reason}` })

/**
 * The audience must be this server only, in any number of names, so that an assertion is worthless elsewhere
 * (CVE-2025-27370). Accepted names: the issuer, the token endpoint (RFC 7523 §3), and the endpoint called (RFC 9126
 * §2, OpenID CIBA Core §7.1).
 */
const checkAudience = (aud: unknown, path: string, { issuer, endpointBases }: ClaimRules): void => {
  const members: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const isOurs = (member: unknown) =>
    member === issuer || endpointBases.some((base) => member === `${base}/token` || member === base + path)
  if (members.length === 0 || !members.every(isOurs)) throw refusal('aud is not this server alone')
}

/**
 * Checks the claims of RFC 7523 §3. `path` is that of the endpoint called. Returns the input of the replay guard.
 * Throws `invalid_client`.
 */
export const checkClaims = (
  claims: JsonObject,
  client: Client,
  path: string,
  rules: ClaimRules,
): { readonly jti: string; readonly ttlSeconds: number; readonly earliest: number } => {
  const { iss, sub, aud, exp, nbf, iat, jti } = claims
  if (iss !== client.client_id || sub !== client.client_id) throw refusal('iss or sub is not the client')
  // FAPI 2.0 Security Profile §5.3.2.1.
  if (isFapi(client) && aud !== rules.issuer) throw refusal('aud is not the issuer as one string')
  checkAudience(aud, path, rules)
  if (!isNumericDate(exp)) throw refusal('exp is missing or not a time')
  const fault = findTimeFault(claims, rules)
  if (fault !== undefined) throw refusal(fault)
  const { toleranceSeconds } = rules
  const maxAgeSeconds = isFapi(client) ? Math.min(rules.maxAgeSeconds, longestForFapi) : rules.maxAgeSeconds
  const now = epochSeconds(rules.clock)
  if (exp > now + maxAgeSeconds + toleranceSeconds) throw refusal('exp is too far ahead')
  if (!isJti(jti)) throw refusal('jti is missing or too long')
  // The earliest time at which any replica, with a clock that may be ahead of ours, accepts it.
  const begun = Math.max(exp - maxAgeSeconds, ...[nbf, iat].filter(isNumericDate)) - 2 * toleranceSeconds
  // Lasts until no replica accepts it any more, with a clock that may be behind ours, and until a request in progress
  // has ended.
  const end = Math.ceil(exp) + 2 * toleranceSeconds + maxRequestSeconds
  return { jti, ttlSeconds: end - now, earliest: Math.floor(begun * 1000) }
}
