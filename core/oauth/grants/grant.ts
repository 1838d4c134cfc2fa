import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../../json.js'
import type { AuthorizationDetail } from '../requests/authorization-details.js'
import type { Client } from '../clients/client.js'

/** How and when a person was authenticated; carried unchanged from login to every id_token (OIDC Core §2, §12.2). */
export interface Authentication {
  /** Seconds since the epoch. */
  readonly auth_time: number
  readonly acr?: string
  readonly amr?: readonly string[]
  readonly nonce?: string
  readonly sid?: string
}

/** What binds a token to its holder: `cnf` of RFC 7800 §3.1. With both members both must hold. */
export interface SenderConstraint {
  /** Thumbprint of the key of a DPoP proof (RFC 9449 §6). */
  readonly jkt?: string
  /** Thumbprint of a client certificate (RFC 8705 §3.1). */
  readonly 'x5t#S256'?: string
}

/** The `claims` parameter, as stored with a code or a refresh family (OIDC Core §5.5). */
export interface RequestedClaims {
  readonly id_token?: Readonly<Record<string, JsonObject | null>>
  readonly userinfo?: Readonly<Record<string, JsonObject | null>>
}

/** One authorization by one person for one client: what codes and refresh families are records of. */
export interface Grant {
  /** The unit of revocation: ending it ends everything that came from it. */
  readonly grantId: string
  readonly clientId: string
  readonly subject: string
  readonly scope: readonly string[]
  /** Good for the time after the session, as with the scope `offline_access`: a request without `openid` (RFC 6749 §1.5). */
  readonly offline?: true
  /** The resources that were granted (RFC 8707), the default audience where none was asked for. */
  readonly resource: readonly string[]
  readonly authentication: Authentication
  readonly requestedClaims?: RequestedClaims
  /** What the person approved of `authorization_details` (RFC 9396 §2). */
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** A public client's refresh tokens are bound to it. */
  readonly constraint?: SenderConstraint
  /** The key of the instance of an attested client, which its refresh tokens are bound to. */
  readonly instanceJkt?: string
}

export interface AuthorizationCode extends Grant {
  readonly redirectUri: string
  /** True when `redirect_uri` came in the authorization request (RFC 6749 §4.1.3). */
  readonly redirectUriSent: boolean
  /** S256 only (RFC 7636 §4.2). */
  readonly codeChallenge?: string
  /** Thumbprint that the code is bound to (RFC 9449 §10). */
  readonly dpopJkt?: string
}

/** Who acts for the subject (RFC 8693 §4.1); `act` is who acted before. */
export interface Actor {
  readonly sub: string
  readonly client_id?: string
  readonly act?: Actor
}

/** Who may act for the subject (RFC 8693 §4.4): all that is named must fit. */
export interface PermittedActor {
  readonly sub?: string
  readonly client_id?: string
}

/** The one type of token that an exchange gives (RFC 8693 §3). */
export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token'

export interface GrantRequest<Input = unknown> {
  /** Authenticated, enabled, and allowed to use this grant. */
  readonly client: Client
  /** The form, each parameter once, without client credentials. */
  readonly params: ReadonlyMap<string, string>
  /** What the handler's `params` made of the grant's own parameters; undefined without a schema. */
  readonly input: Input
  /** `scope` split and checked against the client's; empty: none was asked for. */
  readonly scope: readonly string[]
  /** `resource`, checked (RFC 8707 §2); empty: none was asked for. */
  readonly resource: readonly string[]
  /** `audience`, as sent (RFC 8693 §2.1); empty: none was asked for. */
  readonly audience: readonly string[]
  readonly constraint?: SenderConstraint
  /** Aborted at the request's deadline. */
  readonly signal: AbortSignal
}

/** What the core consumes, once, after signing. */
export type Redeemable =
  | { readonly kind: 'authorization_code'; readonly code: string }
  | { readonly kind: 'refresh_token'; readonly token: string }
  | { readonly kind: 'device_code' | 'auth_req_id'; readonly code: string }

/** What is to be issued. The core narrows, binds, signs, stores, audits; a plugin cannot forget it. */
export interface GrantDecision {
  readonly subject: string
  readonly scope: readonly string[]
  /** Default: what `grant` was given for, else the default audience. A `resource` of the request narrows it. */
  readonly audience?: readonly string[]
  /** Further claims of the access token. Names that are the core's are refused. */
  readonly claims?: JsonObject
  /** Present when a person stands behind it. */
  readonly authentication?: Authentication
  readonly requestedClaims?: RequestedClaims
  /**
   * What is granted of `authorization_details` (RFC 9396 §7): the access token and the answer carry those of a type that
   * the client registered. Default: those of `grant`. Those that the request names narrow them.
   */
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** Issue an id_token when `openid` is active. */
  readonly idToken?: boolean
  /** Issue a refresh token when `offline_access` is active or the grant is `offline`, and the client registered the grant type. */
  readonly refresh?: boolean
  /** Who acts for the subject; at most four in a row. */
  readonly actor?: Actor
  /** Who may act for the subject in a later exchange. */
  readonly mayAct?: PermittedActor
  /** Seconds since the epoch: the tokens end here at the latest. */
  readonly notAfter?: number
  /** Named in the answer of an exchange (RFC 8693 §2.2.1). */
  readonly issuedTokenType?: typeof accessTokenType
  /** The authorization that `redeem` continues; absent: it is one of its own. */
  readonly grant?: Grant
  /** The authorization that this comes from where no record of it is at hand: ending it ends this. */
  readonly grantId?: string
  readonly redeem?: Redeemable
}

/** One grant type (RFC 6749 §4, §4.5). Decides; issues nothing, consumes nothing, keeps nothing between requests. */
export interface GrantHandler<Input = unknown> {
  /** The value of `grant_type`: a name of the RFCs or a URN. */
  readonly grantType: string
  /**
   * Checks the grant's own parameters, before `handle`: any Standard Schema over an object of texts, without those that
   * the core reads. What does not fit is `invalid_request`.
   */
  readonly params?: StandardSchemaV1<unknown, Input>
  /** How a client must have authenticated: methods by name, or any that proves it. Absent: as it registered. */
  readonly clientAuthentication?: 'confidential' | readonly string[]
  /** It is configured for attestations of this issuer: without the section `attestation` there are none, and `check` warns. */
  readonly takesAttestations?: boolean
  /** Throws `OAuthError` to refuse, `Unavailable` when something it needs is down. */
  handle(request: GrantRequest<Input>): Promise<GrantDecision>
}

/** Types a handler: what `params` gives is what `handle` gets as `input`. */
export const defineGrant = <Input = undefined>(handler: GrantHandler<Input>): GrantHandler => handler
