import type { AnswerTarget } from '../../oauth/authorization-request.js'
import type { Client } from '../../oauth/client.js'
import { OAuthError } from '../../oauth/errors.js'
import type { ParameterList } from '../../oauth/params.js'
import { isRegisteredRedirectUri } from '../../oauth/redirect-uri.js'
import type { EndpointRequest } from '../message.js'

const clientIdForm = /^[\x20-\x7e]{1,255}$/

/** Longer ones are refused, and not echoed: anyone may have a state stored, until a sign-in is over. */
const maxStateBytes = 2048

export const isStateTooLong = (state: string): boolean => Buffer.byteLength(state) > maxStateBytes

const checkOnce = (params: ParameterList, name: string): void => {
  if (params.repeated.has(name)) throw new OAuthError('invalid_request', `The parameter ${name} was sent twice.`)
}

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
export const getClient = async (
  params: ParameterList,
  findClient: (clientId: string) => Promise<Client | undefined>,
): Promise<Client> => {
  checkOnce(params, 'client_id')
  const clientId = params.values.get('client_id')
  if (clientId === undefined) throw new OAuthError('invalid_request', 'The parameter client_id is missing.')
  const client = clientIdForm.test(clientId) ? await findClient(clientId) : undefined
  if (client === undefined || client.disabled === true)
    throw new OAuthError('invalid_client', 'The client is unknown.', {
      status: 400,
      reason: client === undefined ? 'unknown client' : 'client is disabled',
    })
  return client
}

/** Where the answer may go: the rule of who may leave out `redirect_uri` is OIDC Core §3.1.2.1's. Throws `invalid_request`. */
export const getTarget = (params: ParameterList, client: Client): AnswerTarget => {
  checkOnce(params, 'redirect_uri')
  const sent = params.values.get('redirect_uri')
  const redirectUri = sent ?? onlyRedirectUri(params, client)
  if (!isRegisteredRedirectUri(client, redirectUri))
    throw new OAuthError('invalid_redirect_uri', 'The redirect URI is not registered for this client.')
  const state = params.repeated.has('state') ? undefined : params.values.get('state')
  return {
    clientId: client.client_id,
    redirectUri,
    redirectUriSent: sent !== undefined,
    responseMode: params.values.get('response_mode') === 'form_post' ? 'form_post' : 'query',
    ...(state !== undefined && !isStateTooLong(state) && { state }),
  }
}

const onlyRedirectUri = (params: ParameterList, client: Client): string => {
  const [only, second] = client.redirect_uris
  const openid = params.values.get('scope')?.split(' ').includes('openid') ?? false
  if (only === undefined || second !== undefined || openid)
    throw new OAuthError('invalid_request', 'The parameter redirect_uri is missing.')
  return only
}
