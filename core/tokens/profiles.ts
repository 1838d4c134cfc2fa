import { createHash } from 'node:crypto'
import type { JsonObject } from '../json.js'
import { maxTokenLength } from '../jose/compact-jws.js'
import type { KeyPurpose } from '../keys/ports.js'
import type { AuthorizationDetail } from '../oauth/requests/authorization-details.js'
import type { Actor, Authentication, PermittedActor, SenderConstraint } from '../oauth/grants/grant.js'

/**
 * One kind of token: its `typ`, and the purpose that a key must have to sign it. A token of one kind is never
 * accepted as another kind.
 */
export interface TokenProfile {
  readonly typ: string
  readonly purpose: KeyPurpose
  /**
   * The maximum length in characters: for tokens that this server reads back it is what can be read, and for all
   * others 64 KiB.
   */
  readonly maxLength: number
  /**
   * The certificates of the key with this `kid` for the header, as base64 of DER (RFC 7515 §4.1.6). It is undefined
   * where the key has none.
   */
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

/**
 * The answer of `/authorize` that travels through the browser (JARM §2.1). It has no `sub`, so it cannot pass for an
 * ID token.
 */
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
  /** The claims that `/userinfo` releases in addition to those of the scopes (OIDC Core §5.5). */
  readonly userinfoClaims: readonly string[]
  readonly authorizationDetails?: readonly AuthorizationDetail[] | undefined
  readonly actor?: Actor | undefined
  readonly mayAct?: PermittedActor | undefined
  readonly further?: JsonObject | undefined
}

/** Builds the claims of RFC 9068 §2.2. Undefined members are left out. */
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
  // Members that follow a spread are defined one by one, which costs 4 µs.
  return content.further === undefined ? claims : { ...content.further, ...claims }
}

/** The outermost `act` is the current actor (RFC 8693 §4.1). */
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

/** Builds the claims of OIDC Core §2; `at_hash` is added when the access token is signed. */
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

/**
 * Returns the left half of the access token's hash, made with the hash function of the ID token's algorithm (OIDC
 * Core §3.1.3.6).
 */
export const accessTokenHash = (accessToken: string, hash: string): string => {
  const digest = createHash(hash).update(accessToken, 'ascii').digest()
  return digest.toString('base64url', 0, digest.length / 2)
}
