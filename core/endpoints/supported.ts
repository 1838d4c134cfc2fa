import { allKeyManagement, contentEncryptions } from '../jose/encryption.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { JsonObject } from '../json.js'
import type { EncryptedAnswer } from '../oauth/clients/encryption.js'
import { attestedClient } from '../oauth/clients/client-authentication.js'
import type { SecurityProfile } from '../oauth/clients/client.js'
import { namesOfAlgorithms } from '../oauth/clients/security-profile.js'

/** What a deployment supports, for its discovery document. Algorithms change by clock. */
export interface Supported {
  /** The issuer identifier, a URL without a slash at its end. */
  readonly issuer: string
  readonly scopes: readonly string[]
  /** Of people. */
  readonly claims: readonly string[]
  readonly responseTypes: readonly string[]
  readonly grantTypes: readonly string[]
  readonly clientAuthMethods: readonly string[]
  /** Every authorization request has to be signed (RFC 9101 §10.5). */
  readonly requireSignedRequests: boolean
  /** A `request_uri` that its client registered is fetched (RFC 9101 §5.2). */
  readonly fetchesRequests: boolean
  /** No client may ask but by `/par` (RFC 9126 §5). */
  readonly requirePushedRequests: boolean
  /** Types of `authorization_details` (RFC 9396 §10). */
  readonly detailsTypes: readonly string[]
  /** With `fapi2`, what no client can use is not named. */
  readonly securityProfile: SecurityProfile
  /** What sign-ins may be asked to have (RFC 9470 §7). */
  readonly acrValues: readonly string[]
  /** Of the pages, the default first. */
  readonly uiLocales: readonly string[]
  /** OIDC Core §8. */
  readonly subjectTypes: readonly string[]
  /** Absent: DPoP is not available. */
  readonly dpopAlgs?: readonly string[] | undefined
  readonly idTokenAlgs: () => readonly JwsAlg[]
  readonly userinfoAlgs: () => readonly JwsAlg[]
  readonly introspectionAlgs: () => readonly JwsAlg[]
  /** Of signed authorization responses. */
  readonly responseAlgs: () => readonly JwsAlg[]
  /** Undefined where no client can have a certificate. `alias`: the issuer's twin where machines are asked for one. */
  readonly mtls?: { readonly alias?: string | undefined } | undefined
}

/** How an answer may be encrypted (OIDC Discovery §3, RFC 9701 §7, JARM §4). */
export const encryptionOf = (answer: EncryptedAnswer): JsonObject => ({
  [`${answer}_encryption_alg_values_supported`]: allKeyManagement,
  [`${answer}_encryption_enc_values_supported`]: contentEncryptions,
})

/** What attestations of clients and their proofs may be signed by (draft-ietf-oauth-attestation-based-client-auth §8). */
export const clientAttestation = ({ clientAuthMethods, securityProfile }: Supported): JsonObject =>
  clientAuthMethods.includes(attestedClient)
    ? {
        client_attestation_signing_alg_values_supported: namesOfAlgorithms(securityProfile),
        client_attestation_pop_signing_alg_values_supported: namesOfAlgorithms(securityProfile),
      }
    : {}

/** How clients authenticate at the endpoint of this name: `token`, `introspection`, `revocation` (RFC 8414 §2). */
export const clientAuthentication = (
  name: string,
  { clientAuthMethods, securityProfile }: Supported,
  methods: readonly string[] = clientAuthMethods,
): JsonObject => ({
  [`${name}_endpoint_auth_methods_supported`]: methods,
  // Required beside this method.
  ...(clientAuthMethods.includes('private_key_jwt') && {
    [`${name}_endpoint_auth_signing_alg_values_supported`]: namesOfAlgorithms(securityProfile),
  }),
})
