import { algorithms, allAlgorithms, findAlgorithm, understoodAlgorithms } from '../../jose/algorithms.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { Client, SecurityProfile } from './client.js'
import type { DpopProof } from '../dpop.js'
import { OAuthError } from '../errors.js'

/** The requirements that FAPI 2.0 Message Signing (Final) adds for clients with `fapi2`. */
export type MessageSigning = 'request' | 'response' | 'introspection'

export const isFapi = ({ security_profile: profile }: Pick<Client, 'security_profile'>): boolean => profile === 'fapi2'

/** The algorithms of FAPI 2.0 Security Profile §5.4.1. */
export const fapiAlgorithms: readonly JwsAlg[] = allAlgorithms.filter((alg) => algorithms[alg].fapi)

/** Returns the algorithms for clients of one profile, named as in the discovery document. */
export const namesOfAlgorithms = (profile: SecurityProfile): readonly string[] =>
  profile === 'oauth2'
    ? understoodAlgorithms
    : understoodAlgorithms.filter((name) => fapiAlgorithms.some((alg) => alg === findAlgorithm(name)))

/** Returns the algorithms that a JWT of this client may be signed by; undefined: any supported algorithm. */
export const acceptedAlgorithms = (client: Client): readonly JwsAlg[] | undefined =>
  isFapi(client) ? fapiAlgorithms : undefined

/** Throws `invalid_dpop_proof`. */
export const checkProofAlgorithm = (client: Client, proof: DpopProof | undefined): void => {
  if (proof === undefined || acceptedAlgorithms(client)?.includes(proof.alg) !== false) return
  throw new OAuthError('invalid_dpop_proof', 'The DPoP proof is invalid.', {
    reason: 'algorithm not accepted for fapi2 (FAPI 2.0 Security Profile §5.4.1)',
    headers: proof.headers,
  })
}

const authenticationMethods: ReadonlySet<string> = new Set([
  'private_key_jwt',
  'tls_client_auth',
  'self_signed_tls_client_auth',
])

/** Returns those of the methods by which clients of a profile may authenticate. */
export const methodsOf = (profile: SecurityProfile, methods: Iterable<string>): readonly string[] =>
  [...methods].filter((method) => profile === 'oauth2' || authenticationMethods.has(method))

const algorithmMembers = [
  'id_token_signed_response_alg',
  'userinfo_signed_response_alg',
  'introspection_signed_response_alg',
  'authorization_signed_response_alg',
  'token_endpoint_auth_signing_alg',
  'request_object_signing_alg',
  'backchannel_authentication_request_signing_alg',
] as const

/** Finds where a client does not meet its profile, with the clause. `path` is within its metadata. */
export const findProfileFaults = (client: Client): readonly { readonly path: string; readonly message: string }[] => {
  if (!isFapi(client)) return []
  const faults: { path: string; message: string }[] = []
  const add = (path: string, message: string, clause: string): void =>
    void faults.push({ path, message: `${message} (FAPI 2.0 Security Profile §${clause})` })
  const { token_endpoint_auth_method: method, redirect_uris: redirectUris = [] } = client
  if (method === undefined || !authenticationMethods.has(method))
    add('token_endpoint_auth_method', `must be ${[...authenticationMethods].join(' or ')} for fapi2`, '5.3.2.1')
  if (client.dpop_bound_access_tokens !== true && client.tls_client_certificate_bound_access_tokens !== true)
    add('dpop_bound_access_tokens', 'or tls_client_certificate_bound_access_tokens must be true for fapi2', '5.3.2.1')
  if (client.require_pushed_authorization_requests === false)
    add('require_pushed_authorization_requests', 'cannot be false for fapi2', '5.3.2.2')
  for (const [index, uri] of redirectUris.entries())
    if (!uri.startsWith('https://')) add(`redirect_uris[${String(index)}]`, 'must be https for fapi2', '5.3.2.2')
  for (const member of algorithmMembers) {
    const alg = client[member]
    if (alg !== undefined && !fapiAlgorithms.includes(alg))
      add(member, `must be ${fapiAlgorithms.join(' or ')} for fapi2`, '5.4.1')
  }
  return faults
}
