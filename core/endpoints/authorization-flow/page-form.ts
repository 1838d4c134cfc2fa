import type { ClientOnPage } from '../../interaction/pages/client-on-page.js'
import { isOpenlyRegistered, type Client } from '../../oauth/clients/client.js'
import { OAuthError, withDetails, type ErrorDetails } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import { hasInk } from '../../plain-text.js'
import type { EndpointRequest } from '../message.js'
import { withQuery } from './with-query.js'

/** Throws `invalid_request` when a field came twice. */
export const checkForm = ({ form }: EndpointRequest): void => {
  if (form.repeated.size > 0) throw new OAuthError('invalid_request', said('field_twice'))
}

export const refuseForgery = (): never => {
  throw new OAuthError('access_denied', said('form_expired'), {
    status: 403,
    reason: 'csrf token missing or wrong',
  })
}

/** The host of a site. Names of loopback and schemes of applications say nothing about who is behind them. */
const returnsTo = (redirectUri: string | undefined): Pick<ClientOnPage, 'returnsTo'> => {
  if (redirectUri === undefined) return {}
  const { protocol, host } = new URL(redirectUri)
  return protocol === 'https:' ? { returnsTo: host } : {}
}

/** A client of an earlier version may have a name that nobody sees. */
const nameOf = ({ client_name: name, client_id: id }: Client): string =>
  name !== undefined && hasInk(name) ? name : id

/** `redirectUri`: where this page's request leads back to. */
export const clientOnPage = (client: Client, redirectUri?: string): ClientOnPage => ({
  clientId: client.client_id,
  name: nameOf(client),
  // The host of the picture would learn who was sent here, and show anything, before anybody has allowed it something.
  ...(client.logo_uri !== undefined && !isOpenlyRegistered(client) && { logoUri: client.logo_uri }),
  ...(client.client_uri !== undefined && { clientUri: client.client_uri }),
  ...(client.policy_uri !== undefined && { policyUri: client.policy_uri }),
  ...(client.tos_uri !== undefined && { tosUri: client.tos_uri }),
  ...(isOpenlyRegistered(client) && { isUnchecked: true, ...returnsTo(redirectUri) }),
})

/**
 * For an error page of a client that is known for certain: its look and its name, and where it begins a sign-in (OIDC Core §4) or has its
 * home. The page leads to no other address, whatever the request says.
 */
export const leadBack = (
  client: Client,
  issuer: string,
): Pick<ErrorDetails, 'clientId' | 'clientName' | 'backUrl'> => ({
  clientId: client.client_id,
  clientName: nameOf(client),
  backUrl:
    client.initiate_login_uri === undefined ? client.client_uri : withQuery(client.initiate_login_uri, { iss: issuer }),
})

/** What goes wrong on a page of this client's leads back to it. */
export const leadingBack = async <Result>(
  client: Client,
  issuer: string,
  answer: () => Result | Promise<Result>,
  uiLocales?: string,
): Promise<Result> => {
  try {
    return await answer()
  } catch (error) {
    throw error instanceof OAuthError ? withDetails(error, { ...leadBack(client, issuer), uiLocales }) : error
  }
}
