import { decodeJwt } from './demo-jwt.js'
import { element, fill, find, showMembers } from './demo-show.js'

const payment = { amount: '12.34', currency: 'EUR', creditor: 'Example Coffee Roasters' }

/** Offers requests to a service that trusts only the attested key. This provider plays the service. */
export const offerPayments = (issuer, device) => {
  const [send, repeat, change] = ['payment-send', 'payment-repeat', 'payment-change'].map(find)
  /** The signed request, as it was last sent. */
  let sent

  const show = async (request) => {
    const response = await fetch(request)
    const said = await response.json().catch(() => ({}))
    const { header, claims } = decodeJwt(request.headers.get('x-signature'))
    fill('payment-request', showMembers({ typ: header.typ, ...claims }))
    const outcome = response.ok
      ? element('li', 'passed', 'accepted')
      : element('li', 'failed', `refused: ${said.error_code ?? response.status}`)
    fill('payment-answer', element('ul', 'checks', outcome), showMembers(said))
    find('payment').hidden = false
    repeat.hidden = change.hidden = false
  }
  const write = (changes) =>
    new Request(`${issuer}/demo/payment`, {
      method: 'POST',
      credentials: 'omit',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...payment, ...changes }),
    })

  return {
    buttons: [send, repeat, change],
    offer(step, inWords) {
      const act = (button, doing, work) =>
        button.addEventListener('click', () =>
          step(doing, '', async () => {
            await work().catch((error) => {
              throw inWords(error)
            })
          }),
        )
      act(send, 'Signing and sending …', async () => {
        sent = await device.sign(write({}), { audience: issuer })
        await show(sent.clone())
      })
      act(repeat, 'Sending it again …', () => show(sent.clone()))
      act(change, 'Sending another amount …', () => {
        const { headers } = sent
        return show(new Request(write({ amount: '9912.34' }), { headers }))
      })
    },
    forget() {
      sent = undefined
      for (const part of [find('payment'), repeat, change]) part.hidden = true
    },
  }
}
