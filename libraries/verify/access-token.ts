import { isOfType } from '../wire/media-type.js'
import { isTime } from '../wire/request-claims.js'
import { isObject, type JsonObject } from './jws.js'
import type { KeySets } from './key-sets.js'
import { refused } from './refusal.js'
import { createSignedTokenReader, type SignedToken } from './signed-token.js'
import { TokenRefused } from './token-refusal.js'

/** Who a request's token was issued to, and what it permits (RFC 9068 §2.2). */
export interface AccessToken extends SignedToken {
  /** `sub`: a person, or the client itself. */
  readonly subject: string
  readonly clientId: string
  readonly scope: readonly string[]
  /** RFC 9396 §9.1; empty if there are none. */
  readonly authorizationDetails: readonly JsonObject[]
  /** All claims, such as roles. */
  readonly claims: JsonObject
}

/** What proves possession of the token (RFC 7800 §3.1). */
export interface Confirmation {
  /** Thumbprint of a key (RFC 9449 §6.1). */
  readonly jkt: string | undefined
  /** Thumbprint of a certificate (RFC 8705 §3.1). */
  readonly certificate: string | undefined
}

interface Read extends AccessToken {
  readonly audiences: readonly unknown[]
  readonly notBefore: number
  /** Undefined if it is of a kind that cannot be checked here. */
  readonly confirmation: Confirmation | undefined
}

export interface AccessTokenOptions {
  readonly keySets: KeySets
  readonly audience: string
  /** Seconds. */
  readonly skew: number
}

/** Reads access tokens that are for this audience and currently valid (RFC 9068 §4). */
export const createAccessTokenReader = ({ keySets, audience, skew }: AccessTokenOptions) => {
  const readToken = createSignedTokenReader<Read>({
    keySets,
    skew,
    isType: (typ) => isOfType(typ, 'at+jwt'),
    read: readClaims,
    wrongSignature: 'bad_signature',
  })

  /** `now` is in seconds since the epoch. Throws refusals. */
  return async (text: string, now: number): Promise<{ readonly token: AccessToken; readonly bound: Confirmation }> => {
    const { audiences, notBefore, confirmation, ...token } = await readToken(text, now)
    if (!audiences.includes(audience)) throw new TokenRefused('audience_mismatch')
    if (now < notBefore - skew || now > token.expiresAt + skew) throw new TokenRefused('token_expired')
    if (!confirmation) throw new TokenRefused('unknown_confirmation')
    return { token, bound: confirmation }
  }
}

const readClaims = (issuer: string, claims: JsonObject): Read => {
  const { sub, client_id: clientId, aud, iat, nbf = iat, exp, jti, scope = '', cnf, auth_time: authTime } = claims
  const { authorization_details: details = [] } = claims
  if (typeof sub !== 'string' || typeof clientId !== 'string' || typeof jti !== 'string') throw refused('malformed')
  if (!isTime(iat) || !isTime(nbf) || !isTime(exp) || typeof scope !== 'string') throw refused('malformed')
  if (!Array.isArray(details) || !details.every(isObject)) throw refused('malformed')
  if (authTime !== undefined && !isTime(authTime)) throw refused('malformed')
  return {
    issuer,
    subject: sub,
    clientId,
    scope: scope.split(' ').filter((word) => word !== ''),
    authorizationDetails: details,
    claims,
    expiresAt: exp,
    audiences: Array.isArray(aud) ? aud : [aud],
    notBefore: Math.max(iat, nbf),
    confirmation: readConfirmation(cnf),
  }
}

const readConfirmation = (cnf: unknown): Confirmation | undefined => {
  if (cnf === undefined) return { jkt: undefined, certificate: undefined }
  if (!isObject(cnf)) return undefined
  const { jkt, 'x5t#S256': certificate, ...others } = cnf
  if (Object.keys(others).length > 0 || (jkt === undefined && certificate === undefined)) return undefined
  if (!isThumbprint(jkt) || !isThumbprint(certificate)) return undefined
  return { jkt, certificate }
}

const isThumbprint = (value: unknown): value is string | undefined =>
  value === undefined || (typeof value === 'string' && /^[\w-]{43}$/.test(value))
