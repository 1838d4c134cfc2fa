import type { Client, ClientDirectory } from '../../oauth/client.js'
import { OAuthError } from '../../oauth/errors.js'
import type { ParameterList } from '../../oauth/params.js'
import { isPushedRequestUri } from '../../oauth/pushed-request.js'
import { checkOnce } from '../authorization-flow/target.js'
import type { EndpointRequest } from '../message.js'

/**
 * The parameters of a request: those of the body of a POST, else those of the query. Throws `invalid_request` when a POST
 * carries one name in both, because which of the two counts is not for us to choose (RFC 6749 §3.1).
 */
export const getParameters = ({ method, query, form }: EndpointRequest): ParameterList => {
  if (method !== 'POST') return query
  for (const name of form.values.keys())
    if (query.values.has(name))
      throw new OAuthError('invalid_request', 'A parameter was sent in the query and in the body.')
  return form
}

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
