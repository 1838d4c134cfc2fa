import { createHash } from 'node:crypto'
import type { JsonObject } from '../json.js'
import { maxTokenLength } from '../jose/compact-jws.js'
import type { KeyPurpose } from '../keys/ports.js'
import type { AuthorizationDetail } from '../oauth/requests/authorization-details.js'
import type { Actor, Authentication, PermittedActor, SenderConstraint } from '../oauth/grants/grant.js'

/** One kind of token: its `typ`, and the purpose that a key must have to sign it. No token passes for another's. */
export interface TokenProfile {
  readonly typ: string
  readonly purpose: KeyPurpose
  /** Characters: what we have to read again, and 64 KiB of what we have not. */
  readonly maxLength: number
  /** Certificates of the key of this `kid`, for the header: base64 of DER (RFC 7515 §4.1.6). Undefined where it has none. */
  readonly certificatesOf?: ((kid: string) => readonly string[] | undefined) | undefined
}

const maxAnswerLength = 64 * 1024

export const accessTokenProfile: TokenProfile = { typ: 'at+jwt', purpose: 'access_token', maxLength: maxTokenLength }
export const idTokenProfile: TokenProfile = { typ: 'JWT', purpose: 'id_token', maxLength: maxTokenLength }
export const userinfoProfile: TokenProfile = { typ: 'userinfo+jwt', purpose: 'userinfo', maxLength: maxAnswerLength }
export const introspectionProfile: TokenProfile = {
  typ: 'token-introspection+jwt',
  purpose: 'introspection',
  maxLength: maxAnswerLength,
}

/** The answer of `/authorize` by way of the browser (JARM §2.1). Without `sub` it is no ID token. */
export const authorizationResponseProfile: TokenProfile = { typ: 'JWT', purpose: 'jarm', maxLength: maxTokenLength }

export interface AccessTokenContent {
  readonly issuer: string
  readonly subject: string
  readonly audience: readonly string[]
  readonly clientId: string
  readonly scope: readonly string[]
  readonly issuedAt: number
  readonly expiresAt: number
  readonly jti: string
  readonly authentication?: Authentication | undefined
  readonly constraint?: SenderConstraint | undefined
  /** Claim names that `/userinfo` shall release beside those of the scopes (OIDC Core §5.5). */
  readonly userinfoClaims: readonly string[]
  readonly authorizationDetails?: readonly AuthorizationDetail[] | undefined
  readonly actor?: Actor | undefined
  readonly mayAct?: PermittedActor | undefined
  readonly further?: JsonObject | undefined
}

/** RFC 9068 §2.2. What is undefined is left out. */
export const accessTokenClaims = (content: AccessTokenContent): JsonObject => {
  const claims = {
    iss: content.issuer,
    sub: content.subject,
    aud: content.audience.length === 1 ? content.audience[0] : content.audience,
    client_id: content.clientId,
    scope: content.scope.length === 0 ? undefined : content.scope.join(' '),
    iat: content.issuedAt,
    exp: content.expiresAt,
    jti: content.jti,
    auth_time: content.authentication?.auth_time,
    acr: content.authentication?.acr,
    act: content.actor && actorClaim(content.actor),
    may_act: content.mayAct && { ...content.mayAct },
    cnf: content.constraint && { ...content.constraint },
    authorization_details: content.authorizationDetails,
    userinfo_claims: content.userinfoClaims.length === 0 ? undefined : content.userinfoClaims,
  }
  // What follows a spread is defined member by member, which costs 4 µs.
  return content.further === undefined ? claims : { ...content.further, ...claims }
}

/** RFC 8693 §4.1: the outermost acts now. */
const actorClaim = ({ sub, client_id, act }: Actor): JsonObject => ({ sub, client_id, act: act && actorClaim(act) })

export interface IdTokenContent {
  readonly issuer: string
  readonly subject: string
  readonly clientId: string
  readonly issuedAt: number
  readonly expiresAt: number
  readonly jti: string
  readonly authentication: Authentication
  readonly further: JsonObject
}

/** OIDC Core §2; `at_hash` is added when the access token is signed. */
export const idTokenClaims = ({ authentication, ...content }: IdTokenContent): JsonObject => ({
  ...content.further,
  iss: content.issuer,
  sub: content.subject,
  aud: content.clientId,
  exp: content.expiresAt,
  iat: content.issuedAt,
  jti: content.jti,
  auth_time: authentication.auth_time,
  nonce: authentication.nonce,
  acr: authentication.acr,
  amr: authentication.amr,
  sid: authentication.sid,
})

/** The left half of the access token's hash under the id_token's own hash function (OIDC Core §3.1.3.6). */
export const accessTokenHash = (accessToken: string, hash: string): string => {
  const digest = createHash(hash).update(accessToken, 'ascii').digest()
  return digest.toString('base64url', 0, digest.length / 2)
}
