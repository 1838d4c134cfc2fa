import { startSender, type Sender, type SendResult } from '../oauth/back-channel/sender.js'
import type { LogoutDelivery } from '../oauth/back-channel/outbox.js'
import type { Client } from '../oauth/clients/client.js'
import { OAuthError } from '../oauth/errors.js'
import { createOutboundFetch } from '../outbound/outbound-fetch.js'
import { Unavailable } from '../unavailable.js'
import type { Serving } from './endpoint-list.js'
import { tokens, type Resolve } from './injection-tokens.js'

/** The time in milliseconds that a client has to answer, and a signer to sign. */
const deadlineMs = 5000

/** Delivers logout tokens (OIDC Back-Channel Logout §2.5) with the clients and keys of the current generation. */
export const startBackChannel = (get: Resolve, serving: () => Serving): Sender => {
  const audit = get(tokens.audit)
  const clients = get(tokens.clients)
  const outbox = get(tokens.logoutOutbox)
  const encrypt = get(tokens.encryptAnswer)
  const { allow_private_addresses: allowPrivateAddresses } = get(tokens.config).outbound
  // Many frameworks turn an empty answer into 204 (OIDC Back-Channel Logout §2.8).
  const fetch = createOutboundFetch({ allowPrivateAddresses, deadlineMs, statuses: [200, 204] })

  const auditContextOf = ({ clientId: client_id, subject: sub, sid, jti }: LogoutDelivery) => ({
    client_id,
    sub,
    sid,
    jti,
  })

  /**
   * The token is encrypted like the client's ID tokens (OIDC Back-Channel Logout §2.4). If the client's key is
   * unavailable, that is the client's fault.
   */
  const post = async (client: Client, uri: string, token: string): Promise<SendResult> => {
    try {
      const logout_token = await encrypt(client, 'id_token', token)
      const bytes = Buffer.from(new URLSearchParams({ logout_token }).toString())
      await fetch(uri, '*/*', { body: { contentType: 'application/x-www-form-urlencoded', bytes } })
      return { outcome: 'delivered' }
    } catch (error) {
      if (!(error instanceof Unavailable || error instanceof OAuthError)) throw error
      return { outcome: 'failed', reason: error.message }
    }
  }

  const sender = startSender({
    outbox,
    complaint: 'Logout tokens cannot be delivered',
    clock: get(tokens.clock),
    log: get(tokens.log),
    async send(delivery) {
      const client = await clients.findEnabled(delivery.clientId)
      const uri = client?.backchannel_logout_uri
      if (client === undefined || uri === undefined) return { outcome: 'moot', reason: 'the client has gone' }
      const { uses, signLogoutToken } = serving()
      const made = await uses.during(signLogoutToken(client, delivery, AbortSignal.timeout(deadlineMs)))
      await audit.record({ event: 'logout.signed', ...auditContextOf(delivery), signatures: [{ ...made.record }] })
      const result = await post(client, uri, made.token)
      if (result.outcome === 'delivered') await audit.record({ event: 'logout.delivered', ...auditContextOf(delivery) })
      return result
    },
    async abandoned(delivery, reason) {
      await audit.record({ event: 'logout.undelivered', ...auditContextOf(delivery), reason })
    },
  })
  outbox.onAdded((milliseconds) => sender.wake(milliseconds))
  return sender
}
