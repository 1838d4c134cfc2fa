import { allKeyManagement, contentEncryptions } from '../jose/encryption.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { JsonObject } from '../json.js'
import type { EncryptedAnswer } from '../oauth/clients/encryption.js'
import { attestedClient } from '../oauth/clients/client-authentication.js'
import type { SecurityProfile } from '../oauth/clients/client.js'
import { namesOfAlgorithms } from '../oauth/clients/security-profile.js'

/** What a deployment supports, for its discovery document. Algorithms change by the clock. */
export interface Supported {
  /** The issuer identifier, a URL without a trailing slash. */
  readonly issuer: string
  readonly scopes: readonly string[]
  /** Claims about people. */
  readonly claims: readonly string[]
  readonly responseTypes: readonly string[]
  readonly grantTypes: readonly string[]
  readonly clientAuthMethods: readonly string[]
  /** Whether every authorization request must be signed (RFC 9101 §10.5). */
  readonly requireSignedRequests: boolean
  /** Whether a registered `request_uri` is fetched (RFC 9101 §5.2). */
  readonly fetchesRequests: boolean
  /** Whether requests must be pushed to `/par` (RFC 9126 §5). */
  readonly requirePushedRequests: boolean
  /** Types of `authorization_details` (RFC 9396 §10). */
  readonly detailsTypes: readonly string[]
  /** With `fapi2`, features that no client can use are omitted. */
  readonly securityProfile: SecurityProfile
  /** Contexts that sign-ins can be required to meet (RFC 9470 §7). */
  readonly acrValues: readonly string[]
  /** Languages of the pages, the default first. */
  readonly uiLocales: readonly string[]
  /** OIDC Core §8. */
  readonly subjectTypes: readonly string[]
  /** If absent, DPoP is not available. */
  readonly dpopAlgs?: readonly string[] | undefined
  readonly idTokenAlgs: () => readonly JwsAlg[]
  readonly userinfoAlgs: () => readonly JwsAlg[]
  readonly introspectionAlgs: () => readonly JwsAlg[]
  /** Algorithms of signed authorization responses. */
  readonly responseAlgs: () => readonly JwsAlg[]
  /**
   * Undefined when no client can have a certificate. `alias` is the issuer's counterpart where machines are asked for
   * one.
   */
  readonly mtls?: { readonly alias?: string | undefined } | undefined
}

/** How an answer may be encrypted (OIDC Discovery §3, RFC 9701 §7, JARM §4). */
export const encryptionOf = (answer: EncryptedAnswer): JsonObject => ({
  [`${answer}_encryption_alg_values_supported`]: allKeyManagement,
  [`${answer}_encryption_enc_values_supported`]: contentEncryptions,
})

/** Algorithms of client attestations and their proofs (draft-ietf-oauth-attestation-based-client-auth §8). */
export const clientAttestation = ({ clientAuthMethods, securityProfile }: Supported): JsonObject =>
  clientAuthMethods.includes(attestedClient)
    ? {
        client_attestation_signing_alg_values_supported: namesOfAlgorithms(securityProfile),
        client_attestation_pop_signing_alg_values_supported: namesOfAlgorithms(securityProfile),
      }
    : {}

/** How clients authenticate at the endpoint with this name: `token`, `introspection`, `revocation` (RFC 8414 §2). */
export const clientAuthentication = (
  name: string,
  { clientAuthMethods, securityProfile }: Supported,
  methods: readonly string[] = clientAuthMethods,
): JsonObject => ({
  [`${name}_endpoint_auth_methods_supported`]: methods,
  // Required with this method.
  ...(clientAuthMethods.includes('private_key_jwt') && {
    [`${name}_endpoint_auth_signing_alg_values_supported`]: namesOfAlgorithms(securityProfile),
  }),
})
