import type { SignInRequest } from '../../interaction/sign-in-method.js'
import type { AuthorizationRequest } from '../../oauth/requests/authorization-request.js'
import type { Client, ClientDirectory } from '../../oauth/clients/client.js'
import { recentSeconds } from '../authorization-flow/recent-sign-in.js'
import type { CompleteContext } from './start-sign-in.js'
import { openInteraction, type OwnInteraction } from './open-interaction.js'

const askedBy = (client: Client, request: AuthorizationRequest): SignInRequest => ({
  clientId: client.client_id,
  ...(client.client_name !== undefined && { clientName: client.client_name }),
  scopes: request.scope,
  acrValues: request.wantedAcr?.values ?? [],
  ...(request.maxAge !== undefined && { maxAge: request.maxAge }),
  ...(request.prompt.length > 0 && { prompt: request.prompt.join(' ') }),
  ...(request.loginHint !== undefined && { loginHint: request.loginHint }),
  uiLocales: request.locale?.split(' ') ?? [],
})

/** The context for one of our pages. */
export const ownPageContext = (own: OwnInteraction): CompleteContext => ({
  own,
  asked: {
    ...{ scopes: [], acrValues: [], uiLocales: [] },
    ...(own.purpose.account?.again && { maxAge: recentSeconds }),
  },
})

/** The context for a client. */
export const clientContext = (own: OwnInteraction, client: Client, request: AuthorizationRequest): CompleteContext => ({
  own,
  asked: askedBy(client, request),
  wanted: request.wantedAcr,
})

/** Throws `invalid_client` for a client that was removed, and `Unavailable`. */
export const contextOf = async (
  own: OwnInteraction,
  { clients }: { readonly clients: Pick<ClientDirectory, 'findEnabled'> },
): Promise<CompleteContext> => {
  if (own.purpose.request === undefined) return ownPageContext(own)
  const { client, request } = await openInteraction(own, clients)
  return clientContext(own, client, request)
}
