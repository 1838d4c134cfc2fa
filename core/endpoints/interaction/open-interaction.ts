import { csrfToken, isCsrfToken } from '../../interaction/csrf.js'
import type { Client, ClientDirectory } from '../../oauth/clients/client.js'
import { OAuthError } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import { isRegisteredRedirectUri } from '../../oauth/requests/redirect-uri.js'
import { isOpaqueToken } from '../../opaque-token.js'
import type { SignInPurpose } from '../../interaction/interaction.js'
import type { Flow, AuthorizationContext } from '../authorization-flow/flow.js'
import { leadingBack } from '../authorization-flow/page-form.js'
import { redirect, type EndpointRequest, type Reply } from '../message.js'

/** An interaction opened in its own browser. */
export interface OwnInteraction {
  readonly http: EndpointRequest
  readonly interactionId: string
  readonly browserCookie: string
  readonly purpose: SignInPurpose
}

/** An interaction that a client is waiting for. */
export interface OpenInteraction extends AuthorizationContext {
  readonly interactionId: string
  readonly browserCookie: string
}

type Clients = Pick<ClientDirectory, 'findEnabled'>

const over = (browserCookie: string | undefined): never => {
  throw new OAuthError('invalid_request', browserCookie === undefined ? said('no_cookie') : said('sign_in_over'))
}

/** Undefined when there is no such interaction in this browser. Throws `Unavailable`. */
export const findInteraction = async (http: EndpointRequest, flow: Flow): Promise<OwnInteraction | undefined> => {
  const interactionId = http.path.get('id')
  const browserCookie = http.cookie(flow.cookies.browser)
  const purpose = await flow.interactions.find(interactionId, browserCookie)
  if (purpose === undefined || interactionId === undefined || browserCookie === undefined) return undefined
  return { http, interactionId, browserCookie, purpose }
}

const clientTag = (browserCookie: string, interactionId: string, clientId: string): string =>
  csrfToken(browserCookie, interactionId, `client\n${clientId}`)

/** An HMAC tag in this client's forms and return addresses. It shows that its page was shown to this browser. */
export const tagClient = ({ browserCookie, interactionId, client }: OpenInteraction): string =>
  `${clientTag(browserCookie, interactionId, client.client_id)}.${client.client_id}`

/**
 * The client of a form or address that arrived after its interaction ended. Nothing else in the request proves which
 * one it was.
 */
const findTaggedClient = async (
  http: EndpointRequest,
  browserCookie: string | undefined,
  clients: Clients,
): Promise<Client | undefined> => {
  const sealed = http.form.values.get('client') ?? http.query.values.get('client')
  const [seal, ...rest] = sealed?.split('.') ?? []
  const [interactionId, clientId] = [http.path.get('id') ?? '', rest.join('.')]
  if (!isOpaqueToken(browserCookie) || !isCsrfToken(clientTag(browserCookie, interactionId, clientId), seal))
    return undefined
  return clients.findEnabled(clientId)
}

/** Like `findInteraction`, but throws `invalid_request` when there is none. */
export const getInteraction = async (
  http: EndpointRequest,
  flow: Flow,
  { clients, issuer }: { readonly clients: Clients; readonly issuer: string },
): Promise<OwnInteraction> => {
  const own = await findInteraction(http, flow)
  if (own !== undefined) return own
  const browserCookie = http.cookie(flow.cookies.browser)
  const client = await findTaggedClient(http, browserCookie, clients)
  return client === undefined ? over(browserCookie) : leadingBack(client, issuer, () => over(browserCookie))
}

/**
 * Gives this browser an interaction that another site posted, and redirects it to the page. Throws `invalid_request`
 * when none is waiting for a browser, and `Unavailable`.
 */
export const claimInteraction = async (http: EndpointRequest, flow: Flow): Promise<Reply> => {
  const browserCookie = http.cookie(flow.cookies.browser)
  const claimed = await flow.interactions.claim(http.path.get('id'), browserCookie, http.address)
  return claimed === undefined
    ? over(browserCookie)
    : redirect(flow.interactions.pageUrl(claimed.id, 'login'), claimed.cookies)
}

/**
 * The request that a client is waiting with. Throws `invalid_request` when there is none, `invalid_client`,
 * `Unavailable`.
 */
export const openInteraction = async (
  { http, interactionId, browserCookie, purpose }: OwnInteraction,
  clients: Clients,
): Promise<OpenInteraction> => {
  const { request } = purpose
  if (request === undefined) return over(browserCookie)
  const client = await clients.findEnabled(request.clientId)
  // A client can be disabled within these ten minutes.
  if (client === undefined || !isRegisteredRedirectUri(client, request.redirectUri))
    throw new OAuthError('invalid_client', said('unknown_client'), { status: 400, reason: 'client changed' })
  return { http, client, request, interactionId, browserCookie }
}
