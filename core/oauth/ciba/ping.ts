import { hashOpaqueToken } from '../../opaque-token.js'
import type { Notice, Outbox } from '../back-channel/outbox.js'
import type { Client } from '../clients/client.js'
import { OAuthError } from '../errors.js'
import type { ParameterList } from '../requests/params.js'

/**
 * The request id and the bearer token of a ping. The client knows both, and gets them back unchanged (OpenID CIBA
 * Core §10.2).
 */
export interface Ping {
  readonly authReqId: string
  readonly token: string
}

/** That a person has decided. */
export interface PingNotice extends Notice, Ping {
  /** A hash of the id that devices know: for the audit log. */
  readonly approval: string
}

/**
 * The form that `Authorization: Bearer` can carry (RFC 6750 §2.1). A shorter text does not have 128 bits (OpenID CIBA
 * Core §7.1).
 */
const bearerToken = /^(?=.{22,1024}$)[\w.~+/-]+=*$/

/** Returns the address that `client` is notified at; undefined: it polls. */
export const pingEndpoint = (client: Client): string | undefined =>
  client.backchannel_token_delivery_mode === 'ping' ? client.backchannel_client_notification_endpoint : undefined

/** The outbox where pings wait until they are delivered. */
export type PingOutbox = Pick<Outbox<PingNotice>, 'add'>

/**
 * Notifies `client` that the request `approvalId` is decided; a client that polls gets nothing. Call it before the
 * decision is written, so that none goes unreported: a client that hears too early polls again. Throws `Unavailable`.
 */
export const reportDecision = async (
  pings: PingOutbox,
  client: Client,
  approvalId: string,
  ping: Ping | undefined,
): Promise<void> => {
  const endpoint = pingEndpoint(client)
  if (ping === undefined || endpoint === undefined) return
  const { host } = new URL(endpoint)
  await pings.add([{ ...ping, clientId: client.client_id, host, approval: hashOpaqueToken(approvalId) }])
}

/** `client_notification_token`, which a client in ping mode has to send, and no other. Throws `OAuthError`. */
export const readNotificationToken = ({ values }: ParameterList, client: Client): string | undefined => {
  if (pingEndpoint(client) === undefined) return undefined
  const token = values.get('client_notification_token')
  if (token !== undefined && bearerToken.test(token)) return token
  throw new OAuthError(
    'invalid_request',
    'The parameter client_notification_token must be a bearer token of 22 to 1024 characters.',
  )
}
