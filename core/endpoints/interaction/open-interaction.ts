import type { ClientDirectory } from '../../oauth/client.js'
import { OAuthError } from '../../oauth/errors.js'
import { isRegisteredRedirectUri } from '../../oauth/redirect-uri.js'
import type { SignInPurpose } from '../../interaction/interaction.js'
import type { Flow, AuthorizationContext } from '../authorization-flow/flow.js'
import { redirect, type EndpointRequest, type Reply } from '../message.js'

/** An interaction that was opened in its own browser. */
export interface OwnInteraction {
  readonly http: EndpointRequest
  readonly interactionId: string
  readonly browserCookie: string
  readonly purpose: SignInPurpose
}

/** One that a client waits for. */
export interface OpenInteraction extends AuthorizationContext {
  readonly interactionId: string
  readonly browserCookie: string
}

const over = (browserCookie: string | undefined): never => {
  throw new OAuthError(
    'invalid_request',
    browserCookie === undefined
      ? 'Your browser sent no cookie for this sign-in. Allow cookies for this site, then start again from the application.'
      : 'This sign-in has ended or belongs to another browser. Start again from the application.',
  )
}

/** Undefined when there is no such interaction, or none of this browser's. Throws `Unavailable`. */
export const findInteraction = async (http: EndpointRequest, flow: Flow): Promise<OwnInteraction | undefined> => {
  const interactionId = http.path.get('id')
  const browserCookie = http.cookie(flow.cookies.browser)
  const purpose = await flow.interactions.find(interactionId, browserCookie)
  if (purpose === undefined || interactionId === undefined || browserCookie === undefined) return undefined
  return { http, interactionId, browserCookie, purpose }
}

/** As `findInteraction`, but throws `invalid_request` where that finds nothing. */
export const getInteraction = async (http: EndpointRequest, flow: Flow): Promise<OwnInteraction> =>
  (await findInteraction(http, flow)) ?? over(http.cookie(flow.cookies.browser))

/**
 * Gives this browser an interaction that another site posted, and sends it to the page. Throws `invalid_request` when none
 * waits for a browser; `Unavailable`.
 */
export const claimInteraction = async (http: EndpointRequest, flow: Flow): Promise<Reply> => {
  const browserCookie = http.cookie(flow.cookies.browser)
  const claimed = await flow.interactions.claim(http.path.get('id'), browserCookie, http.address)
  return claimed === undefined
    ? over(browserCookie)
    : redirect(flow.interactions.pageUrl(claimed.id, 'login'), claimed.cookies)
}

/** The request that a client waits with. Throws `invalid_request` where there is none, `invalid_client`, `Unavailable`. */
export const openInteraction = async (
  { http, interactionId, browserCookie, purpose }: OwnInteraction,
  clients: Pick<ClientDirectory, 'findEnabled'>,
): Promise<OpenInteraction> => {
  const { request } = purpose
  if (request === undefined) return over(browserCookie)
  const client = await clients.findEnabled(request.clientId)
  // Ten minutes are long enough for a client to be shut out.
  if (client === undefined || !isRegisteredRedirectUri(client, request.redirectUri))
    throw new OAuthError('invalid_client', 'The client is unknown.', { status: 400, reason: 'client changed' })
  return { http, client, request, interactionId, browserCookie }
}
