import type { JweAlg, JweEnc } from '../../jose/encryption.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { JsonObject } from '../../json.js'

/** `fapi2`: FAPI 2.0 Security Profile (Final). */
export const securityProfiles = ['oauth2', 'fapi2'] as const
export type SecurityProfile = (typeof securityProfiles)[number]

/** When the consent page is shown. */
export const consentChoices = ['required', 'remembered', 'implicit'] as const

/** How a person is called towards a client (OIDC Core §8). */
export const subjectTypes = ['public', 'pairwise'] as const

/**
 * A registered client. Members are the metadata names of RFC 7591 §2 and OpenID Connect Registration §2, with their
 * defaults filled in; `allowed_audiences`, `consent`, `introspection_audiences`, `security_profile`, `disabled`,
 * `client_secret_sha256` and what begins with `previous_` are ours.
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
  /** Absent: the client sends its secret either way, by `client_secret_basic` or by `client_secret_post`. */
  readonly token_endpoint_auth_method?: string
  /** base64url SHA-256 of the secret. The secret itself is never kept. */
  readonly client_secret_sha256?: string
  /** Seconds since the epoch; 0 or absent: never (RFC 7591 §3.2.1). */
  readonly client_secret_expires_at?: number
  /** As `client_secret_sha256`, of the secret before: valid until `previous_client_secret_expires_at`, which is there too. */
  readonly previous_client_secret_sha256?: string
  /** Seconds since the epoch. */
  readonly previous_client_secret_expires_at?: number
  /** Absent: any algorithm that fits a key of the client. */
  readonly token_endpoint_auth_signing_alg?: JwsAlg
  /** Public keys, each past the guard. At most one of `jwks` and `jwks_uri` is there. */
  readonly jwks?: { readonly keys: readonly JsonObject[] }
  readonly jwks_uri?: string
  readonly id_token_signed_response_alg?: JwsAlg
  readonly userinfo_signed_response_alg?: JwsAlg
  readonly introspection_signed_response_alg?: JwsAlg
  /** Of answers by `response_mode=jwt`. Absent: the algorithm of ID tokens. */
  readonly authorization_signed_response_alg?: JwsAlg
  /** What is signed for the client is encrypted to its key with `use: enc`. Absent: it is not. */
  readonly id_token_encrypted_response_alg?: JweAlg
  /** Absent: A128CBC-HS256. */
  readonly id_token_encrypted_response_enc?: JweEnc
  readonly userinfo_encrypted_response_alg?: JweAlg
  readonly userinfo_encrypted_response_enc?: JweEnc
  readonly introspection_encrypted_response_alg?: JweAlg
  readonly introspection_encrypted_response_enc?: JweEnc
  readonly authorization_encrypted_response_alg?: JweAlg
  readonly authorization_encrypted_response_enc?: JweEnc
  /** `pairwise`: clients of other sectors know the person by other subjects. Absent: `public`. */
  readonly subject_type?: (typeof subjectTypes)[number]
  /** Its host names the sector. Absent: the host of the redirect URIs does. */
  readonly sector_identifier_uri?: string
  /** The claims of the scopes are in the id_token too, for clients that ask `/userinfo` for nothing. */
  readonly include_claims_in_id_token?: boolean
  /** When the consent page is shown. Absent: `remembered`. */
  readonly consent?: (typeof consentChoices)[number]
  readonly default_max_age?: number
  /** What `acr_values` is where a request has none (OIDC Registration §2). */
  readonly default_acr_values?: readonly string[]
  /** Met for every client: `auth_time` is in every id_token. */
  readonly require_auth_time?: boolean
  /** The client gets no token without a DPoP proof (RFC 9449 §5.2). */
  readonly dpop_bound_access_tokens?: boolean
  /** The subject of its certificate, for `tls_client_auth`: one of these is there (RFC 8705 §2.1.2). */
  readonly tls_client_auth_subject_dn?: string
  readonly tls_client_auth_san_dns?: string
  readonly tls_client_auth_san_uri?: string
  readonly tls_client_auth_san_ip?: string
  readonly tls_client_auth_san_email?: string
  /** The client gets no token without a certificate, to which its tokens are bound (RFC 8705 §3.4). */
  readonly tls_client_certificate_bound_access_tokens?: boolean
  /** The client may ask by `/par` alone (RFC 9126 §6). */
  readonly require_pushed_authorization_requests?: boolean
  /** The client has to sign its authorization requests (RFC 9101 §10.5). */
  readonly require_signed_request_object?: boolean
  /** Absent: any algorithm that fits a key of the client. */
  readonly request_object_signing_alg?: JwsAlg
  /** Where its request objects may be, compared as text (RFC 9101 §5.2). Absent: nowhere. */
  readonly request_uris?: readonly string[]
  /** The types of `authorization_details` that the client may ask for (RFC 9396 §10). Absent: none. */
  readonly authorization_details_types?: readonly string[]
  /** Where the browser may go after a logout, compared as text (RP-Initiated Logout §3.1). Absent: nowhere. */
  readonly post_logout_redirect_uris?: readonly string[]
  /** Where it hears that a session is over (OIDC Back-Channel Logout §2.2). Absent: it does not. */
  readonly backchannel_logout_uri?: string
  /** Met for every client: `sid` is in every logout token. */
  readonly backchannel_logout_session_required?: boolean
  /** How the client learns of the decision (OpenID CIBA Core §4). Absent: `poll`. */
  readonly backchannel_token_delivery_mode?: 'poll' | 'ping'
  /** Where it hears of the decision, in ping mode (OpenID CIBA Core §4). */
  readonly backchannel_client_notification_endpoint?: string
  /** The client signs its backchannel authentication requests, by this algorithm (OpenID CIBA Core §4). Absent: it need not. */
  readonly backchannel_authentication_request_signing_alg?: JwsAlg
  readonly logo_uri?: string
  readonly client_uri?: string
  readonly policy_uri?: string
  readonly tos_uri?: string
  /** Where a sign-in may begin that somebody else asks for (OIDC Core §4). */
  readonly initiate_login_uri?: string
  /** The software that the client is an instance of, and its version (RFC 7591 §2). */
  readonly software_id?: string
  readonly software_version?: string
  /** For the operator. */
  readonly contacts?: readonly string[]
  /** Resource servers that the client may ask tokens for, beside the default audience. */
  readonly allowed_audiences: readonly string[]
  /** Resource servers that the client is: it may introspect the tokens for them. Absent: none. */
  readonly introspection_audiences?: readonly string[]
  readonly security_profile: SecurityProfile
  readonly disabled?: boolean
  /** Of a client that registered itself (RFC 7591). */
  readonly registration?: ClientRegistration
  /** Metadata that only a plugin reads, under names of its own. */
  readonly metadata: JsonObject
}

/** How a client registered itself, and what its registration can be changed with. */
export interface ClientRegistration {
  /** Seconds since the epoch. */
  readonly issued_at: number
  /** base64url SHA-256 of the registration access token (RFC 7592 §3). The token itself is never kept. */
  readonly access_token_sha256: string
  /** The id of the initial access token. Absent: anybody could have registered it. */
  readonly initial_access_token?: string
  /** The name of its policy. Absent: that of everybody. */
  readonly policy?: string
  /** As it came: a JWT (RFC 7591 §2.3). */
  readonly software_statement?: string
  /** The client was not used so far, and is forgotten then. Seconds since the epoch. */
  readonly unused_until?: number
  /** While it is unused, of one that anybody could have registered: the address bucket that did. */
  readonly address?: string
  /** The same: no request has named it since. */
  readonly unseen?: true
}

/** What a `client_id` may be: 1 to 255 visible ASCII characters and spaces (RFC 6749 appendix A.1). */
export const isClientId = (text: string): boolean => /^[\x20-\x7e]{1,255}$/.test(text)

/** Every client of this deployment: those of the configuration, then those of the store. */
export interface ClientDirectory {
  /** Undefined when unknown, disabled, or when the id cannot be one. Throws `Unavailable`. */
  findEnabled(clientId: string): Promise<Client | undefined>
  /** For those who record why: tells a disabled client from an unknown one. Throws `Unavailable`. */
  find(clientId: string): Promise<Client | 'disabled' | undefined>
  /** The client has changed in the store: this process is not to use it as it was. */
  forget(clientId: string): void
}

/**
 * The methods by which a client may authenticate: the one that it registered. Without one, either way to send a secret:
 * RFC 6749 §2.3.1 wants servers to support Basic, and half of the libraries send the secret in the form.
 */
export const authenticationMethods = ({
  token_endpoint_auth_method: method,
}: Pick<Client, 'token_endpoint_auth_method'>): readonly string[] =>
  method === undefined ? ['client_secret_basic', 'client_secret_post'] : [method]

/** RFC 6749 §2.1: a public client cannot keep a credential. */
export const isPublicClient = (client: Client): boolean => client.token_endpoint_auth_method === 'none'

/** Anybody could have registered it: nobody has vouched for what it says about itself. */
export const isOpenlyRegistered = ({ registration }: Client): boolean =>
  registration !== undefined && registration.initial_access_token === undefined
