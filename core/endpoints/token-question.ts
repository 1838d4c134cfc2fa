import type { AuthenticatedClient, ClientAuthentication } from '../oauth/clients/client-authentication.js'
import { OAuthError } from '../oauth/errors.js'
import { formParameters, readClientForm, tokenRequestOf } from './client-request.js'
import type { EndpointRequest } from './message.js'
import type { AuditContext } from './refusals.js'

export interface TokenQuestion extends AuthenticatedClient {
  readonly token: string
}

const parameters = formParameters('token', 'token_type_hint')

/**
 * What a client posts to `/introspect` and `/revoke`: its authentication, as at `/token`, and a token (RFC 7662 §2.1,
 * RFC 7009 §2.1). `path` is the endpoint's. Throws `invalid_client`, `invalid_request`, `Unavailable`.
 */
export const readTokenQuestion = async (
  request: EndpointRequest,
  authenticateClient: ClientAuthentication,
  seen: AuditContext,
  path: string,
): Promise<TokenQuestion> => {
  const params = readClientForm(request, parameters)
  const authenticated = await authenticateClient(tokenRequestOf(request, params, path), request.signal)
  seen.client = authenticated.client
  await authenticated.dpop?.claim()
  const token = params.get('token')
  if (token === undefined) throw new OAuthError('invalid_request', 'The parameter token is missing.')
  return { ...authenticated, token }
}
