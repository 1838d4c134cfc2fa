import type { Delivery } from '../oauth/back-channel/outbox.js'
import { startSender, type Sender, type SendResult } from '../oauth/back-channel/sender.js'
import { pingEndpoint, type PingNotice } from '../oauth/ciba/ping.js'
import { createOutboundRequest } from '../outbound/outbound-fetch.js'
import { Unavailable } from '../unavailable.js'
import { tokens, type Resolve } from './injection-tokens.js'

/** The time in milliseconds that a client has to answer. */
const deadlineMs = 5000

/** The answers that OpenID CIBA Core §10.2 allows. */
const accepted: ReadonlySet<number> = new Set([200, 204])
/**
 * The client may answer a later request differently after these statuses. Other refusals, and redirects, do not
 * change by themselves.
 */
const passing: ReadonlySet<number> = new Set([408, 425, 429])

/** Notifies clients in ping mode that a person has decided (OpenID CIBA Core §10.2). */
export const startPings = (get: Resolve): Sender => {
  const audit = get(tokens.audit)
  const clients = get(tokens.clients)
  const outbox = get(tokens.pingOutbox)
  const { allow_private_addresses: allowPrivateAddresses } = get(tokens.config).outbound
  const request = createOutboundRequest({ allowPrivateAddresses, deadlineMs })

  const auditContextOf = ({ clientId: client_id, approval }: Delivery<PingNotice>) => ({ client_id, approval })

  const post = async (endpoint: string, { authReqId, token }: Delivery<PingNotice>): Promise<SendResult> => {
    const body = Buffer.from(JSON.stringify({ auth_req_id: authReqId }))
    const headers = { authorization: `Bearer ${token}`, accept: '*/*', 'content-type': 'application/json' }
    try {
      const { status } = await request(endpoint, { method: 'POST', headers, body })
      if (accepted.has(status)) return { outcome: 'delivered' }
      const reason = `The answer has status ${String(status)}`
      return { outcome: status >= 500 || passing.has(status) ? 'failed' : 'moot', reason }
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      return { outcome: 'failed', reason: error.message }
    }
  }

  const sender = startSender({
    outbox,
    complaint: 'Clients cannot be told of approvals',
    clock: get(tokens.clock),
    log: get(tokens.log),
    async send(delivery) {
      const client = await clients.findEnabled(delivery.clientId)
      const endpoint = client && pingEndpoint(client)
      if (endpoint === undefined) return { outcome: 'moot', reason: 'the client has gone, or polls' }
      const result = await post(endpoint, delivery)
      if (result.outcome === 'delivered')
        await audit.record({ event: 'backchannel.pinged', ...auditContextOf(delivery) })
      return result
    },
    async abandoned(delivery, reason) {
      await audit.record({ event: 'backchannel.unpinged', ...auditContextOf(delivery), reason })
    },
  })
  outbox.onAdded((milliseconds) => sender.wake(milliseconds))
  return sender
}
