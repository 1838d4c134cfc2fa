import type { JweAlg, JweEnc } from '../../jose/encryption.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { JsonObject } from '../../json.js'

/** `fapi2`: FAPI 2.0 Security Profile (Final). */
export const securityProfiles = ['oauth2', 'fapi2'] as const
export type SecurityProfile = (typeof securityProfiles)[number]

/** When the consent page is shown. */
export const consentChoices = ['required', 'remembered', 'implicit'] as const

/** How clients see a person's subject (OIDC Core §8). */
export const subjectTypes = ['public', 'pairwise'] as const

/**
 * A registered client. Members are the metadata names of RFC 7591 §2 and OpenID Connect Registration §2, with their
 * defaults filled in. `allowed_audiences`, `consent`, `introspection_audiences`, `security_profile`, `disabled`,
 * `client_secret_sha256` and names that begin with `previous_` are Signet's own.
 */
export interface Client {
  readonly client_id: string
  readonly client_name?: string
  readonly application_type: 'web' | 'native'
  readonly redirect_uris: readonly string[]
  readonly grant_types: readonly string[]
  readonly response_types: readonly string[]
  /** The scopes that the client may ask for. */
  readonly scope: readonly string[]
  /** Absent: the client may send its secret by `client_secret_basic` or by `client_secret_post`. */
  readonly token_endpoint_auth_method?: string
  /** base64url SHA-256 of the secret. The secret itself is never kept. */
  readonly client_secret_sha256?: string
  /** Seconds since the epoch; 0 or absent: never (RFC 7591 §3.2.1). */
  readonly client_secret_expires_at?: number
  /**
   * The hash of the previous secret, as in `client_secret_sha256`. It is valid until
   * `previous_client_secret_expires_at`, which is then present as well.
   */
  readonly previous_client_secret_sha256?: string
  /** Seconds since the epoch. */
  readonly previous_client_secret_expires_at?: number
  /** Absent: any algorithm that fits a key of the client. */
  readonly token_endpoint_auth_signing_alg?: JwsAlg
  /** Public keys that each passed the guard. At most one of `jwks` and `jwks_uri` is present. */
  readonly jwks?: { readonly keys: readonly JsonObject[] }
  readonly jwks_uri?: string
  readonly id_token_signed_response_alg?: JwsAlg
  readonly userinfo_signed_response_alg?: JwsAlg
  readonly introspection_signed_response_alg?: JwsAlg
  /** The algorithm of responses by `response_mode=jwt`. Absent: the algorithm of ID tokens. */
  readonly authorization_signed_response_alg?: JwsAlg
  /** Tokens that are signed for the client are encrypted to its key with `use: enc`. Absent: they are not encrypted. */
  readonly id_token_encrypted_response_alg?: JweAlg
  /** Absent: A128CBC-HS256. */
  readonly id_token_encrypted_response_enc?: JweEnc
  readonly userinfo_encrypted_response_alg?: JweAlg
  readonly userinfo_encrypted_response_enc?: JweEnc
  readonly introspection_encrypted_response_alg?: JweAlg
  readonly introspection_encrypted_response_enc?: JweEnc
  readonly authorization_encrypted_response_alg?: JweAlg
  readonly authorization_encrypted_response_enc?: JweEnc
  /** `pairwise`: clients of other sectors see another subject for the same person. Absent: `public`. */
  readonly subject_type?: (typeof subjectTypes)[number]
  /** The host of this URI names the sector. Absent: the host of the redirect URIs does. */
  readonly sector_identifier_uri?: string
  /** The claims of the scopes are in the id_token as well, for clients that do not call `/userinfo`. */
  readonly include_claims_in_id_token?: boolean
  /** When the consent page is shown. Absent: `remembered`. */
  readonly consent?: (typeof consentChoices)[number]
  readonly default_max_age?: number
  /** The value of `acr_values` for requests that have none (OIDC Registration §2). */
  readonly default_acr_values?: readonly string[]
  /** Every client gets this: `auth_time` is in every id_token. */
  readonly require_auth_time?: boolean
  /** The client gets no token without a DPoP proof (RFC 9449 §5.2). */
  readonly dpop_bound_access_tokens?: boolean
  /**
   * The subject of its certificate, for `tls_client_auth`. Exactly one of these members is present (RFC 8705 §2.1.2).
   */
  readonly tls_client_auth_subject_dn?: string
  readonly tls_client_auth_san_dns?: string
  readonly tls_client_auth_san_uri?: string
  readonly tls_client_auth_san_ip?: string
  readonly tls_client_auth_san_email?: string
  /** The client gets no token without a certificate, and its tokens are bound to that certificate (RFC 8705 §3.4). */
  readonly tls_client_certificate_bound_access_tokens?: boolean
  /** The client may send authorization requests through `/par` only (RFC 9126 §6). */
  readonly require_pushed_authorization_requests?: boolean
  /** The client has to sign its authorization requests (RFC 9101 §10.5). */
  readonly require_signed_request_object?: boolean
  /** Absent: any algorithm that fits a key of the client. */
  readonly request_object_signing_alg?: JwsAlg
  /** The addresses of its request objects, compared as text (RFC 9101 §5.2). Absent: it has none. */
  readonly request_uris?: readonly string[]
  /** The types of `authorization_details` that the client may ask for (RFC 9396 §10). Absent: none. */
  readonly authorization_details_types?: readonly string[]
  /**
   * The addresses that the browser may go to after a logout, compared as text (RP-Initiated Logout §3.1). Absent:
   * none.
   */
  readonly post_logout_redirect_uris?: readonly string[]
  /**
   * The address that is notified when a session has ended (OIDC Back-Channel Logout §2.2). Absent: the client is not
   * notified.
   */
  readonly backchannel_logout_uri?: string
  /** Every client gets this: `sid` is in every logout token. */
  readonly backchannel_logout_session_required?: boolean
  /** How the client learns of the decision (OpenID CIBA Core §4). Absent: `poll`. */
  readonly backchannel_token_delivery_mode?: 'poll' | 'ping'
  /** The address that is notified of the decision in ping mode (OpenID CIBA Core §4). */
  readonly backchannel_client_notification_endpoint?: string
  /**
   * The client signs its backchannel authentication requests by this algorithm (OpenID CIBA Core §4). Absent: it need
   * not sign them.
   */
  readonly backchannel_authentication_request_signing_alg?: JwsAlg
  readonly logo_uri?: string
  readonly client_uri?: string
  readonly policy_uri?: string
  readonly tos_uri?: string
  /** The address where a third party can start a sign-in (OIDC Core §4). */
  readonly initiate_login_uri?: string
  /** The software that the client is an instance of, and its version (RFC 7591 §2). */
  readonly software_id?: string
  readonly software_version?: string
  /** Addresses for the operator. */
  readonly contacts?: readonly string[]
  /** Resource servers that the client may request tokens for, in addition to the default audience. */
  readonly allowed_audiences: readonly string[]
  /** Resource servers that this client represents: it may introspect their tokens. Absent: none. */
  readonly introspection_audiences?: readonly string[]
  readonly security_profile: SecurityProfile
  readonly disabled?: boolean
  /** Present for a client that registered itself (RFC 7591). */
  readonly registration?: ClientRegistration
  /** Metadata that only a plugin reads, under names of the plugin's choice. */
  readonly metadata: JsonObject
}

/** How a client registered itself, and the token that its registration can be changed with. */
export interface ClientRegistration {
  /** Seconds since the epoch. */
  readonly issued_at: number
  /** base64url SHA-256 of the registration access token (RFC 7592 §3). The token itself is never kept. */
  readonly access_token_sha256: string
  /** The id of the initial access token. Absent: the registration was open to anyone. */
  readonly initial_access_token?: string
  /** The name of its policy. Absent: `registration.policy` of the configuration. */
  readonly policy?: string
  /** The software statement as it was received: a JWT (RFC 7591 §2.3). */
  readonly software_statement?: string
  /** The client has not been used yet, and is deleted at this time. Seconds since the epoch. */
  readonly unused_until?: number
  /** While an openly registered client is unused: the address bucket that it was registered from. */
  readonly address?: string
  /** While an openly registered client is unused: no request has named it yet. */
  readonly unseen?: true
}

/** Tells whether a text may be a `client_id`: 1 to 255 visible ASCII characters and spaces (RFC 6749 appendix A.1). */
export const isClientId = (text: string): boolean => /^[\x20-\x7e]{1,255}$/.test(text)

/** All clients of this deployment: those of the configuration, then those of the store. */
export interface ClientDirectory {
  /** Returns undefined when the client is unknown or disabled, or the id cannot be one. Throws `Unavailable`. */
  findEnabled(clientId: string): Promise<Client | undefined>
  /** For callers that record the reason: distinguishes a disabled client from an unknown one. Throws `Unavailable`. */
  find(clientId: string): Promise<Client | 'disabled' | undefined>
  /** Drops a client that has changed in the store, so that this process does not use its old state. */
  forget(clientId: string): void
}

/**
 * Returns the methods by which a client may authenticate: the one that it registered. Without one it may send its
 * secret either way, because RFC 6749 §2.3.1 requires servers to support Basic, and half of the libraries send the
 * secret in the form.
 */
export const authenticationMethods = ({
  token_endpoint_auth_method: method,
}: Pick<Client, 'token_endpoint_auth_method'>): readonly string[] =>
  method === undefined ? ['client_secret_basic', 'client_secret_post'] : [method]

/** RFC 6749 §2.1: a public client cannot keep a credential. */
export const isPublicClient = (client: Client): boolean => client.token_endpoint_auth_method === 'none'

/** Tells whether a client was registered openly, so that nobody has vouched for what it says about itself. */
export const isOpenlyRegistered = ({ registration }: Client): boolean =>
  registration !== undefined && registration.initial_access_token === undefined
