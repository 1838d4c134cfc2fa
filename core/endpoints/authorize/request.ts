import type { Client, ClientDirectory } from '../../oauth/client.js'
import { OAuthError } from '../../oauth/errors.js'
import type { ParameterList } from '../../oauth/params.js'
import { isPushedRequestUri } from '../../oauth/pushed-request.js'
import { checkOnce } from '../authorization-flow/target.js'

/** The client that asks. Throws `invalid_request`, `invalid_client`, `Unavailable`. */
export const getClient = async (params: ParameterList, clients: Pick<ClientDirectory, 'find'>): Promise<Client> => {
  checkOnce(params, 'client_id')
  const clientId = params.values.get('client_id')
  if (clientId === undefined) throw new OAuthError('invalid_request', 'The parameter client_id is missing.')
  const client = await clients.find(clientId)
  if (client === undefined || client === 'disabled')
    throw new OAuthError('invalid_client', 'The client is unknown.', {
      status: 400,
      reason: client === undefined ? 'unknown client' : 'client is disabled',
    })
  return client
}

/** The reference of a pushed request. What else comes with it, but for `client_id`, counts for nothing (RFC 9126 §4). */
export const getPushedRequestUri = (params: ParameterList): string | undefined => {
  const uri = params.values.get('request_uri')
  if (uri === undefined || !isPushedRequestUri(uri)) return undefined
  checkOnce(params, 'request_uri')
  return uri
}
