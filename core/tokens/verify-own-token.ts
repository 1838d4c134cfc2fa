import { isOfType } from '../../libraries/wire/media-type.js'
import type { Clock } from '../clock.js'
import type { JsonObject } from '../json.js'
import { findTimeFault } from '../jose/claim-times.js'
import { parseCompactJws } from '../jose/compact-jws.js'
import type { KeyPurpose, KeyRing, PublishedKey } from '../keys/ports.js'
import { verifySignature } from '../jose/verify-signature.js'
import { idTokenProfile } from './profiles.js'

export interface OwnTokenExpectation {
  readonly ring: Pick<KeyRing, 'publishedKey'>
  /** The `typ` as a media type (RFC 8725 §3.11). A token is never accepted where another type is expected. */
  readonly typ: string
  /** A key that may not sign such a token cannot verify one either. */
  readonly purpose: KeyPurpose
  readonly issuer: string
  readonly clock: Clock
  readonly toleranceSeconds: number
  /**
   * Use `accepted` for hints (RP-Initiated Logout §2), and where the caller has a rule of its own. The default is
   * `refused`.
   */
  readonly expired?: 'accepted' | 'refused'
  /**
   * True when the signature of exactly this token is known to be good under the published key; it is not verified
   * again. The default is false.
   */
  readonly signatureIsKnown?: boolean
}

/** The settings that are the same for all kinds of tokens. */
export type OwnTokenVerification = Omit<OwnTokenExpectation, 'typ' | 'purpose' | 'expired'>

export interface OwnToken {
  /** `exp` and `iat` are times and `iss` is the issuer; check the type of every other claim. */
  readonly claims: JsonObject
  readonly publishedKey: PublishedKey
}

/**
 * Returns a token that this issuer signed with a key that is still published and may sign this kind of token, if it
 * is well formed and valid now, and undefined for everything else. The algorithm is that of our key, and the key is
 * found by `kid` alone: `jwk`, `jku`, `x5c` and `x5u` in the header are ignored (RFC 8725 §3.10). Neither the
 * audience nor revocation is checked here.
 */
export const verifyOwnToken = async (token: string, expected: OwnTokenExpectation): Promise<OwnToken | undefined> => {
  const jws = parseCompactJws(token)
  if (jws === undefined) return undefined
  const { alg, kid, typ } = jws.header
  if (!isOfType(typ, expected.typ) || typeof kid !== 'string') return undefined
  const key = expected.ring.publishedKey(kid)
  if (key === undefined || alg !== key.alg || !key.purposes.includes(expected.purpose)) return undefined
  const claims = jws.payload
  if (claims['iss'] !== expected.issuer || !isInTime(claims, expected)) return undefined
  if (expected.signatureIsKnown !== true && !(await verifySignature(key, jws.signingInput, jws.signature)))
    return undefined
  return { claims, publishedKey: key }
}

/** Checks the times of RFC 7519 §4.1.4–§4.1.6. Every token of this issuer has an `iat`. */
export const isInTime = (
  claims: JsonObject,
  rules: Pick<OwnTokenExpectation, 'clock' | 'toleranceSeconds' | 'expired'>,
): boolean => {
  const fault = findTimeFault(claims, rules)
  return claims['iat'] !== undefined && (fault === undefined || (fault === 'expired' && rules.expired === 'accepted'))
}

const maxHintLength = 8192

/**
 * Returns whom an `id_token_hint` names. The hint must be an ID token of this issuer, but may have expired (OIDC Core
 * §3.1.2.1).
 */
export const verifyIdTokenHint = async (token: string, expected: OwnTokenVerification) => {
  if (token.length > maxHintLength) return undefined
  const verified = await verifyOwnToken(token, { ...expected, ...idTokenProfile, expired: 'accepted' })
  const { sub, aud, sid } = verified?.claims ?? {}
  if (typeof sub !== 'string' || typeof aud !== 'string') return undefined
  return { sub, aud, ...(typeof sid === 'string' && { sid }) }
}
