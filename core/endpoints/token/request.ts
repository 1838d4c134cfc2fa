import type { ClientAuthentication } from '../../oauth/clients/client-authentication.js'
import type { Client } from '../../oauth/clients/client.js'
import type { Dpop, DpopProof } from '../../oauth/dpop.js'
import { OAuthError } from '../../oauth/errors.js'
import type { GrantHandler, GrantRequest, SenderConstraint } from '../../oauth/grants/grant.js'
import { checkResources } from '../../oauth/requests/resource.js'
import { checkClientAuthentication, withoutCredentials } from '../../oauth/grants/run-grant.js'
import { checkScope } from '../../oauth/requests/scope.js'
import { checkProofAlgorithm } from '../../oauth/clients/security-profile.js'
import { formParameters, readClientForm, tokenRequestOf } from '../client-request.js'
import type { EndpointRequest } from '../message.js'
import type { AuditContext } from '../refusals.js'

export interface TokenRequestOptions {
  readonly authenticateClient: ClientAuthentication
  /** The enabled grants by `grant_type`. */
  readonly grants: ReadonlyMap<string, GrantHandler>
  readonly defaultAudience: string
  /** Absent without a replay guard, and then proofs are refused. */
  readonly dpop?: Dpop | undefined
}

/** The token request of an authenticated client, checked as far as possible before its grant decides. */
export interface TokenRequest {
  readonly requestId: string
  readonly signal: AbortSignal
  readonly client: Client
  /** How the client authenticated. */
  readonly method: string
  readonly handler: GrantHandler
  /** The input of the grant. */
  readonly asked: Omit<GrantRequest, 'input'>
  readonly authorizationDetails: string | undefined
  readonly proof: DpopProof | undefined
  /** The keys and certificates to which the tokens are bound. */
  readonly constraint: SenderConstraint | undefined
  readonly instanceJkt: string | undefined
}

/** The parameters of the grants in RFC 6749, 8628, 8693, 8707 and 9396, and in OpenID CIBA. */
const parameters = formParameters(
  ...['grant_type', 'scope', 'resource', 'audience', 'authorization_details'],
  ...['code', 'redirect_uri', 'code_verifier', 'refresh_token', 'device_code', 'auth_req_id'],
  ...['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type', 'requested_token_type'],
  ...['assertion', 'username', 'password', 'access_token'],
)

/** Distinguishes a grant that is not loaded from one that the client is not registered for (RFC 6749 §5.2). */
const grantOf = (
  params: ReadonlyMap<string, string>,
  client: Client,
  grants: TokenRequestOptions['grants'],
): GrantHandler => {
  const grantType = params.get('grant_type')
  if (grantType === undefined) throw new OAuthError('invalid_request', 'The parameter grant_type is missing.')
  const handler = grants.get(grantType)
  if (handler === undefined) throw new OAuthError('unsupported_grant_type', 'The grant type is not supported.')
  if (!client.grant_types.includes(grantType))
    throw new OAuthError('unauthorized_client', 'The client may not use this grant type.')
  return handler
}

/** RFC 9449 §5: undefined when the client sends no proof and needs none. */
const checkProof = async (
  request: EndpointRequest,
  client: Client,
  dpop: Dpop | undefined,
): Promise<DpopProof | undefined> => {
  const proof = request.header('dpop')
  if (proof === undefined && client.dpop_bound_access_tokens !== true) return undefined
  if (dpop === undefined) throw new OAuthError('invalid_dpop_proof', 'DPoP is not available.')
  if (proof !== undefined) return dpop.check({ proof, method: request.method, path: '/token' })
  const headers = await dpop.nonceHeader()
  throw new OAuthError('invalid_dpop_proof', 'This client must send a DPoP proof.', { headers })
}

/** RFC 8705 §3: undefined when the client's tokens are not bound to a certificate. */
const checkCertificate = (request: EndpointRequest, client: Client): string | undefined => {
  if (client.tls_client_certificate_bound_access_tokens !== true) return undefined
  const certificate = request.clientCertificate()
  if (certificate !== undefined) return certificate.thumbprint
  throw new OAuthError('invalid_request', 'This client must use a certificate.', { reason: 'no client certificate' })
}

/** Everything that the tokens are bound to, or undefined. */
const constraintOf = (
  confirmation: SenderConstraint | undefined,
  proof: DpopProof | undefined,
  thumbprint: string | undefined,
): SenderConstraint | undefined =>
  proof === undefined && thumbprint === undefined
    ? confirmation
    : { ...confirmation, ...(proof && { jkt: proof.jkt }), ...(thumbprint !== undefined && { 'x5t#S256': thumbprint }) }

/**
 * Reads the form, authenticates the client, and checks its proofs and its request. `seen` gets the client as soon as
 * it is known. Throws `OAuthError` and `Unavailable`.
 */
export const createReadTokenRequest =
  ({ authenticateClient, grants, defaultAudience, dpop }: TokenRequestOptions) =>
  async (http: EndpointRequest, seen: AuditContext): Promise<TokenRequest> => {
    // Only `resource` and `audience` may be repeated (RFC 8707 §2, RFC 8693 §2.1).
    const params = readClientForm(http, parameters, 'resource', 'audience')
    const { requestId, signal } = http
    const authenticated = await authenticateClient(tokenRequestOf(http, params, '/token'), signal)
    const { client, method, confirmation, instanceJkt } = authenticated
    seen.client = client
    const proof = authenticated.dpop ?? (await checkProof(http, client, dpop))
    checkProofAlgorithm(client, proof)
    const constraint = constraintOf(confirmation, proof, checkCertificate(http, client))
    const handler = grantOf(params, client, grants)
    checkClientAuthentication(handler, method)
    const asked = {
      client,
      params: withoutCredentials(params),
      scope: checkScope(params.get('scope'), client),
      resource: checkResources(http.form.all('resource'), client, defaultAudience),
      audience: [...new Set(http.form.all('audience'))],
      ...(constraint && { constraint }),
      signal,
    }
    const authorizationDetails = params.get('authorization_details')
    return { requestId, signal, client, method, handler, asked, authorizationDetails, proof, constraint, instanceJkt }
  }
