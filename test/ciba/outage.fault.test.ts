import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { WaitingRequest } from '../support/clients/ciba.js'
import { shopClient } from '../support/clients/ciba.js'
import { startCibaServer, type CibaServer, type Phone } from '../support/server/ciba-server.js'
import { failingStore, inBothRoles, type Faults } from '../support/stores/failing-store.js'

const faults: Faults = new Map()
const ping = {
  backchannel_token_delivery_mode: 'ping',
  backchannel_client_notification_endpoint: 'https://shop.example/ping',
}
const client_notification_token = 'a-notification-token-of-the-shop'

let server: CibaServer
let phone: Phone
beforeAll(async () => {
  server = await startCibaServer({ doubles: { stores: inBothRoles(failingStore(faults)) } }, (written) => ({
    ...written,
    clients: [{ ...shopClient, ...ping }],
  }))
  phone = await server.newPhone()
})
afterEach(() => faults.clear())
afterAll(() => server[Symbol.asyncDispose]())

let authReqId: string
let waiting: WaitingRequest
beforeEach(async () => {
  server.host.later(3_700_000)
  phone = await server.newPhone()
  authReqId = await server.start({ client_notification_token })
  waiting = (await phone.list())[0]!
})

const down = { status: 503, body: { error: 'temporarily_unavailable', error_code: 'Unavailable' } }
const expectDown = (answer: { readonly headers: Headers }): void => {
  expect(answer).toMatchObject(down)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
}

it.each([
  ['*'],
  ['request_signatures.claim'],
  ['backchannel_requests.findByUserCode'],
  ['ping_deliveries.put'],
  ['backchannel_requests.decide'],
])('an outage at a decision consumes nothing: %s', async (verb) => {
  faults.set(verb, 'before')
  expectDown(await phone.decide(waiting))
  if (verb !== 'ping_deliveries.put' && verb !== 'backchannel_requests.decide') expectDown(await phone.get())
  faults.clear()
  server.rest()
  expect(await server.poll(authReqId)).toMatchObject({ status: 400, body: { error: 'authorization_pending' } })
  expect(await phone.decide(waiting)).toMatchObject({ status: 200, body: { state: 'approved' } })
  server.rest()
  expect((await server.poll(authReqId)).status).toBe(200)
})

it('a decision whose answer was lost takes effect once', async () => {
  faults.set('backchannel_requests.decide', 'after')
  expectDown(await phone.decide(waiting))
  faults.clear()
  expect(await phone.decide(waiting, 'deny')).toMatchObject({ status: 409, body: { error_code: 'ApprovalOver' } })
  server.rest()
  expect((await server.poll(authReqId)).status).toBe(200)
})

it.each([['*'], ['waiting_approvals.update'], ['backchannel_requests.start']])(
  'an outage at the start leaves no waiting request: %s',
  async (verb) => {
    faults.set(verb, 'before')
    for (let count = 0; count < 3; count++) {
      const answer = await server.ask({ login_hint: 'alice', client_notification_token })
      expect(answer).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    faults.clear()
    expect(await phone.list()).toHaveLength(1)
    // No place is taken: three of a client may wait.
    await server.start({ client_notification_token })
  },
)

it.each([['*'], ['backchannel_requests.redeem']])('an outage at a poll costs no tokens: %s', async (verb) => {
  await phone.decide(waiting)
  server.rest()
  faults.set(verb, 'before')
  expect(await server.poll(authReqId)).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } })
  faults.clear()
  server.rest()
  expect((await server.poll(authReqId)).status).toBe(200)
})
