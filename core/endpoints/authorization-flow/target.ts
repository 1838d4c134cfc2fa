import type { AnswerTarget } from '../../oauth/requests/authorization-request.js'
import type { Client } from '../../oauth/clients/client.js'
import { OAuthError } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import type { ParameterList } from '../../oauth/requests/params.js'
import { explainRedirectUri } from './explain-redirect-uri.js'
import { isRegisteredRedirectUri } from '../../oauth/requests/redirect-uri.js'
import { findResponseMode } from '../../oauth/requests/response-mode.js'

/** Longer ones are refused and not echoed, because anyone can have a state stored until a sign-in ends. */
const maxStateBytes = 2048

export const isStateTooLong = (state: string): boolean => Buffer.byteLength(state) > maxStateBytes

/** Throws `invalid_request` when the parameter is repeated. */
export const checkOnce = (params: ParameterList, name: string): void => {
  if (params.repeated.has(name)) throw new OAuthError('invalid_request', `The parameter ${name} was sent twice.`)
}

const unregistered = said('unknown_redirect_uri')

/**
 * Where the answer may go. OIDC Core §3.1.2.1 says when `redirect_uri` may be omitted. Throws `invalid_request` and,
 * for another client's redirect URI, `invalid_redirect_uri`, whose page names the client and explains `shown` if
 * given.
 */
export const getTarget = (params: ParameterList, client: Client, shown?: string): AnswerTarget => {
  checkOnce(params, 'redirect_uri')
  const sent = params.values.get('redirect_uri')
  const redirectUri = sent ?? onlyRedirectUri(params, client)
  if (!isRegisteredRedirectUri(client, redirectUri))
    throw new OAuthError('invalid_redirect_uri', unregistered, {
      clientName: client.client_name ?? client.client_id,
      facts: shown === undefined ? undefined : explainRedirectUri(client.client_id, shown, client.redirect_uris),
    })
  const state = params.repeated.has('state') ? undefined : params.values.get('state')
  return {
    clientId: client.client_id,
    redirectUri,
    redirectUriSent: sent !== undefined,
    responseMode: findResponseMode(params.values.get('response_mode')) ?? 'query',
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
