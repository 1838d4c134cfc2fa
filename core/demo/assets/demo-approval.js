import { find, showLeaves } from './demo-show.js'

/** The outcomes of OpenID CIBA Core §11 as text for people. */
const endings = new Map([
  ['access_denied', 'The payment was denied on the device. This page got no token. You can try again.'],
  ['expired_token', 'Nobody approved the payment in time. You can try again.'],
])

/** The letters leave out characters that look alike. */
const letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const newMessage = () =>
  `Order ${Array.from(crypto.getRandomValues(new Uint8Array(5)), (byte) => letters[byte % letters.length]).join('')}`

/** Requests a payment, shows what the device has to show, and returns how to wait for the decision. */
export const startApproval = async (client, payment) => {
  const message = newMessage()
  const started = await client.startApproval(message, payment)
  find('demo-approval-message').textContent = message
  find('demo-approval-payment').replaceChildren(showLeaves(payment))
  const end = new Date(Date.now() + started.expires_in * 1000)
  find('demo-approval-end').textContent = end.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
  find('demo-approval').hidden = false
  find('demo-approval-title').focus()
  return {
    panel: 'demo-approval',
    poll: async () => ({ ...(await client.pollApproval(started.auth_req_id)), asked: payment }),
    interval: started.interval,
    endings,
    done: 'Approved on the device. The access token has what was shown there.',
  }
}
