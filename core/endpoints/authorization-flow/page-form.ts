import type { ClientOnPage } from '../../interaction/pages/client-on-page.js'
import { isOpenlyRegistered, type Client } from '../../oauth/clients/client.js'
import { OAuthError, withDetails, type ErrorDetails } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import { hasInk } from '../../plain-text.js'
import type { EndpointRequest } from '../message.js'
import { withQuery } from './with-query.js'

/** Throws `invalid_request` when a field is repeated. */
export const checkForm = ({ form }: EndpointRequest): void => {
  if (form.repeated.size > 0) throw new OAuthError('invalid_request', said('field_twice'))
}

export const refuseForgery = (): never => {
  throw new OAuthError('access_denied', said('form_expired'), {
    status: 403,
    reason: 'csrf token missing or wrong',
  })
}

/** The host of a site. Loopback names and application schemes say nothing about who is behind them. */
const returnsTo = (redirectUri: string | undefined): Pick<ClientOnPage, 'returnsTo'> => {
  if (redirectUri === undefined) return {}
  const { protocol, host } = new URL(redirectUri)
  return protocol === 'https:' ? { returnsTo: host } : {}
}

/** A client from an earlier version may have an invisible name. */
const nameOf = ({ client_name: name, client_id: id }: Client): string =>
  name !== undefined && hasInk(name) ? name : id

/** `redirectUri` is where this page's request returns to. */
export const clientOnPage = (client: Client, redirectUri?: string): ClientOnPage => ({
  clientId: client.client_id,
  name: nameOf(client),
  // The picture's host would learn who was sent here, and could show anything, before the person has allowed the
  // client anything.
  ...(client.logo_uri !== undefined && !isOpenlyRegistered(client) && { logoUri: client.logo_uri }),
  ...(client.client_uri !== undefined && { clientUri: client.client_uri }),
  ...(client.policy_uri !== undefined && { policyUri: client.policy_uri }),
  ...(client.tos_uri !== undefined && { tosUri: client.tos_uri }),
  ...(isOpenlyRegistered(client) && { isUnchecked: true, ...returnsTo(redirectUri) }),
})

/**
 * For an error page of a verified client: its theme and name, and where it starts a sign-in (OIDC Core §4) or has its
 * home. The page leads to no other address, whatever the request contains.
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

/** Lets error pages of this client lead back to it. */
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
