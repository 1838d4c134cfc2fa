import type { Client, ClientDirectory } from '../../oauth/clients/client.js'
import { OAuthError, shownClientId } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import type { ParameterList } from '../../oauth/requests/params.js'
import { isPushedRequestUri } from '../../oauth/requests/pushed-request.js'
import { checkOnce } from '../authorization-flow/target.js'
import { hideTokens } from '../../opaque-token.js'

/**
 * The requesting client. With `meant`, the page says which id was probably meant. Throws `invalid_request`,
 * `invalid_client`, `Unavailable`.
 */
export const getClient = async (
  params: ParameterList,
  clients: Pick<ClientDirectory, 'find'>,
  meant?: (clientId: string) => string | undefined,
): Promise<Client> => {
  checkOnce(params, 'client_id')
  const clientId = params.values.get('client_id')
  if (clientId === undefined) throw new OAuthError('invalid_request', 'The parameter client_id is missing.')
  const client = await clients.find(clientId)
  if (client === 'disabled')
    throw new OAuthError('invalid_client', said('unknown_client'), {
      status: 400,
      reason: 'client is disabled',
      claimedClientId: clientId,
    })
  if (client === undefined) {
    const sentClientId = shownClientId(clientId)
    const near = meant?.(clientId)
    const hint = near === undefined ? undefined : `did you mean ${near}?`
    throw new OAuthError('invalid_client', said('unknown_client'), {
      status: 400,
      reason: 'unknown client',
      sentClientId,
      facts: meant && { client_id: sentClientId, hint },
    })
  }
  return client
}

/** The reference of a pushed request. All other parameters except `client_id` are ignored (RFC 9126 §4). */
export const getPushedRequestUri = (params: ParameterList): string | undefined => {
  const uri = params.values.get('request_uri')
  if (uri === undefined || !isPushedRequestUri(uri)) return undefined
  checkOnce(params, 'request_uri')
  return uri
}

const maxLength = 200

/**
 * Reduces a URI to what is needed to find a typing error, without query, fragment and userinfo, which may be secret,
 * and without tokens in the path. At most 200 characters; undefined when it is not a URI.
 */
export const originAndPath = (uri: string): string | undefined => {
  if (!URL.canParse(uri)) return undefined
  const { protocol, host, pathname } = new URL(uri)
  return `${protocol}${host === '' ? '' : `//${host}`}${hideTokens(pathname)}`.slice(0, maxLength)
}
