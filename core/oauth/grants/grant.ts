import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../../json.js'
import type { AuthorizationDetail } from '../requests/authorization-details.js'
import type { Client } from '../clients/client.js'

/**
 * How and when a person was authenticated. It is carried unchanged from login to every id_token (OIDC Core §2,
 * §12.2).
 */
export interface Authentication {
  /** Seconds since the epoch. */
  readonly auth_time: number
  readonly acr?: string
  readonly amr?: readonly string[]
  readonly nonce?: string
  readonly sid?: string
}

/** What binds a token to its holder: `cnf` of RFC 7800 §3.1. If both members are present, both must match. */
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

/** One authorization by one person for one client. Codes and refresh families are records of it. */
export interface Grant {
  /** The unit of revocation: revoking it ends everything that came from it. */
  readonly grantId: string
  readonly clientId: string
  readonly subject: string
  readonly scope: readonly string[]
  /**
   * The grant is valid after the session, as with the scope `offline_access`. It is for a request without `openid`
   * (RFC 6749 §1.5).
   */
  readonly offline?: true
  /** The resources that were granted (RFC 8707), or the default audience if none was requested. */
  readonly resource: readonly string[]
  readonly authentication: Authentication
  readonly requestedClaims?: RequestedClaims
  /** The `authorization_details` that the person approved (RFC 9396 §2). */
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** A public client's refresh tokens are bound to this. */
  readonly constraint?: SenderConstraint
  /** The key of the instance of an attested client. Its refresh tokens are bound to it. */
  readonly instanceJkt?: string
}

export interface AuthorizationCode extends Grant {
  readonly redirectUri: string
  /** True when the authorization request contained `redirect_uri` (RFC 6749 §4.1.3). */
  readonly redirectUriSent: boolean
  /** The method is always S256 (RFC 7636 §4.2). */
  readonly codeChallenge?: string
  /** The thumbprint that the code is bound to (RFC 9449 §10). */
  readonly dpopJkt?: string
}

/** The party that acts for the subject (RFC 8693 §4.1); `act` is the previous actor. */
export interface Actor {
  readonly sub: string
  readonly client_id?: string
  readonly act?: Actor
}

/** The party that may act for the subject (RFC 8693 §4.4). All members that are present must match. */
export interface PermittedActor {
  readonly sub?: string
  readonly client_id?: string
}

/** The only type of token that an exchange issues (RFC 8693 §3). */
export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token'

export interface GrantRequest<Input = unknown> {
  /** The client is authenticated, enabled, and allowed to use this grant. */
  readonly client: Client
  /** The parameters of the form, each once, without client credentials. */
  readonly params: ReadonlyMap<string, string>
  /** The grant's own parameters as the handler's `params` parsed them; undefined without a schema. */
  readonly input: Input
  /** `scope`, split and checked against the client's; empty when none was requested. */
  readonly scope: readonly string[]
  /** `resource`, checked (RFC 8707 §2); empty when none was requested. */
  readonly resource: readonly string[]
  /** `audience`, as sent (RFC 8693 §2.1); empty when none was requested. */
  readonly audience: readonly string[]
  readonly constraint?: SenderConstraint
  /** The signal is aborted at the request's deadline. */
  readonly signal: AbortSignal
}

/** The credential that the core consumes, once, after signing. */
export type Redeemable =
  | { readonly kind: 'authorization_code'; readonly code: string }
  | { readonly kind: 'refresh_token'; readonly token: string }
  | { readonly kind: 'device_code' | 'auth_req_id'; readonly code: string }

/** The tokens to issue. The core narrows, binds, signs, stores and audits, so a plugin cannot forget these steps. */
export interface GrantDecision {
  readonly subject: string
  readonly scope: readonly string[]
  /** Default: the audience of `grant`, else the default audience. A `resource` of the request narrows it. */
  readonly audience?: readonly string[]
  /** Further claims of the access token. Names that the core uses are refused. */
  readonly claims?: JsonObject
  /** Present when a person is involved. */
  readonly authentication?: Authentication
  readonly requestedClaims?: RequestedClaims
  /**
   * The granted `authorization_details` (RFC 9396 §7). The access token and the response carry those of a type that
   * the client registered. Default: those of `grant`. Those that the request names narrow them.
   */
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** Issues an id_token when `openid` is active. */
  readonly idToken?: boolean
  /**
   * Issues a refresh token when `offline_access` is active or the grant is `offline`, and the client registered the
   * grant type.
   */
  readonly refresh?: boolean
  /** The party that acts for the subject; a chain has at most four. */
  readonly actor?: Actor
  /** The party that may act for the subject in a later exchange. */
  readonly mayAct?: PermittedActor
  /** Seconds since the epoch. The tokens expire at this time at the latest. */
  readonly notAfter?: number
  /** The type that the response of an exchange names (RFC 8693 §2.2.1). */
  readonly issuedTokenType?: typeof accessTokenType
  /** The authorization that `redeem` continues. Absent: the decision is a new authorization. */
  readonly grant?: Grant
  /**
   * The id of the authorization that this comes from, if its record is not at hand. Revoking that authorization ends
   * this one.
   */
  readonly grantId?: string
  readonly redeem?: Redeemable
}

/**
 * One grant type (RFC 6749 §4, §4.5). It decides; it issues nothing, consumes nothing and keeps nothing between
 * requests.
 */
export interface GrantHandler<Input = unknown> {
  /** The value of `grant_type`: a name from the RFCs or a URN. */
  readonly grantType: string
  /**
   * Checks the grant's own parameters before `handle`: any Standard Schema over an object of strings, without those
   * that the core reads. Input that does not match is refused as `invalid_request`.
   */
  readonly params?: StandardSchemaV1<unknown, Input>
  /**
   * How a client must have authenticated: methods by name, or any that proves the client. Absent: the method that it
   * registered.
   */
  readonly clientAuthentication?: 'confidential' | readonly string[]
  /**
   * The handler accepts attestations of this issuer. Without the section `attestation` there are none, and `check`
   * warns.
   */
  readonly takesAttestations?: boolean
  /** Throws `OAuthError` to refuse, and `Unavailable` when a service that it needs is down. */
  handle(request: GrantRequest<Input>): Promise<GrantDecision>
}

/** Types a handler: `handle` gets the output of `params` as `input`. */
export const defineGrant = <Input = undefined>(handler: GrantHandler<Input>): GrantHandler => handler
