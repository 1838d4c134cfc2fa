import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { WaitingRequest } from '../support/clients/ciba.js'
import { startCibaServer, type CibaServer, type Phone } from '../support/server/ciba-server.js'

let server: CibaServer
let phone: Phone
beforeAll(async () => {
  server = await startCibaServer()
  phone = await server.newPhone()
})
afterAll(() => server[Symbol.asyncDispose]())

let authReqId: string
let waiting: WaitingRequest
beforeEach(async () => {
  authReqId = await server.start()
  waiting = (await phone.list()).at(-1)!
})

const named = (status: number, error_code: string) => ({ status, body: { error_code } })

it('CB02 of ten concurrent decisions of two phones one stands, and a later one changes nothing', async () => {
  const second = await server.newPhone()
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => (n % 2 ? phone : second).decide(waiting, n % 3 ? 'approve' : 'deny')),
  )
  const [winner, ...others] = answers.filter(({ status }) => status === 200)
  expect(others).toEqual([])
  for (const answer of answers) if (answer !== winner) expect(answer).toMatchObject(named(409, 'ApprovalOver'))
  server.rest()
  const { status } = await server.poll(authReqId)
  expect(status).toBe(winner?.body['state'] === 'approved' ? 200 : 400)
  expect(await second.decide(waiting)).toMatchObject(named(409, 'ApprovalOver'))
})

it('CB11 an auth_req_id yields one set of tokens, which are revoked when it is used again', async () => {
  await phone.decide(waiting)
  const answers = await Promise.all(Array.from({ length: 10 }, () => server.poll(authReqId)))
  const won = answers.filter(({ status }) => status === 200)
  expect(won).toHaveLength(1)
  // Those that came too early have made it wait longer.
  server.host.later(60_000)
  expect(await server.poll(authReqId)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
  expect((await server.host.userinfo(String(won[0]?.body['access_token']))).status).toBe(401)
  const events = (await server.host.server.audit()).map(({ event }) => event)
  expect(events).toContain('backchannel.reused')
})
