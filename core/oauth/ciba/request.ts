import type { JsonObject } from '../../json.js'
import type { WantedAcr } from '../requests/authentication-context.js'
import type { AuthorizationDetail } from '../requests/authorization-details.js'
import type { Client } from '../clients/client.js'
import type { Grant } from '../grants/grant.js'
import type { Ping } from './ping.js'

/** OpenID CIBA Core §4. */
export const cibaGrant = 'urn:openid:params:grant-type:ciba'

/** `amr` of an approval (RFC 8176): the device has proved possession of its key. */
export const approvalMethods = ['pop'] as const

/** What a client asks a person for, outside the person's browser (OpenID CIBA Core §7.1). */
export interface BackchannelRequest {
  readonly clientId: string
  /** The person it is about, who alone decides. */
  readonly subject: string
  readonly scope: readonly string[]
  /** The resources that were asked for (RFC 8707). */
  readonly resource: readonly string[]
  readonly bindingMessage?: string
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  readonly wantedAcr?: WantedAcr
  /** Present for a client that is notified of the decision. */
  readonly ping?: Ping
  /** Seconds since the epoch. */
  readonly askedAt: number
}

/** What the client has been allowed: the grant that its tokens come from. */
export type BackchannelApproval = Grant

/**
 * What a device shows to the person, and signs with the decision (dynamic linking): everything the grant is made of,
 * and the client's name.
 */
export const shownRequest = (request: BackchannelRequest, client: Client): JsonObject => {
  const { scope, resource, bindingMessage, authorizationDetails } = request
  return {
    client_id: client.client_id,
    ...(client.client_name !== undefined && { client_name: client.client_name }),
    scope: scope.join(' '),
    ...(resource.length > 0 && { resource }),
    ...(bindingMessage !== undefined && { binding_message: bindingMessage }),
    ...(authorizationDetails && { authorization_details: authorizationDetails }),
  }
}
