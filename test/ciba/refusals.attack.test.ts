import { expect, it } from 'vitest'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { shopClient } from '../support/clients/ciba.js'
import { collectionsOf } from '../support/forge/mint.js'
import { startCibaServer } from '../support/server/ciba-server.js'
import { subject } from '../support/server/server.js'

type Json = Record<string, unknown>

it('CB11 a request of a client that lost the grant is not shown and cannot be decided', async () => {
  await using server = await startCibaServer({}, (written) => ({
    ...written,
    clients: (written['clients'] as Json[]).filter(({ client_id: id }) => id !== shopClient.client_id),
  }))
  const { clients } = collectionsOf(server.host.store)
  const save = async (changes: Json): Promise<void> => {
    const { client } = parseClientMetadata({ ...shopClient, ...changes }, [
      'openid',
      'profile',
      'offline_access',
      'read',
    ])
    await clients.put(shopClient.client_id, client!)
  }
  await save({})
  const authReqId = await server.start()
  const phone = await server.newPhone()
  const [waiting] = await phone.list()
  await save({ grant_types: ['client_credentials'] })
  expect(await phone.list()).toEqual([])
  expect(await phone.decide(waiting!)).toMatchObject({ status: 404, body: { error_code: 'ApprovalUnknown' } })
  expect((await server.poll(authReqId)).body['error']).toBe('unauthorized_client')
  await save({})
  expect((await server.poll(authReqId)).body['error']).toBe('authorization_pending')
  expect((await phone.decide(waiting!)).status).toBe(200)
})

it('CB12 a hint that is the name of one person and the sub of another names nobody', async () => {
  await using server = await startCibaServer({}, (written) => {
    const [alice] = written['accounts'] as Json[]
    return { ...written, accounts: [alice, { ...alice, username: subject, sub: 'mallory-1' }] }
  })
  await server.start({ login_hint: 'alice' })
  const answer = await server.ask({ login_hint: subject })
  expect(answer).toMatchObject({ status: 400, body: { error: 'unknown_user_id' } })
})

it('CB10 a device that polls without pause is slowed down, and other devices of the person are not', async () => {
  const limits = { key_per_minute: 10, address_per_minute: 1_000_000, subject_per_minute: 1_000_000 }
  await using server = await startCibaServer({ limits: { ...limits, principal_free: 1000 } })
  const [phone, other] = [await server.newPhone(), await server.newPhone()]
  const statuses: number[] = []
  // A minute may end meanwhile, but not two.
  while (statuses.length < 21 && statuses.at(-1) !== 429) statuses.push((await phone.get()).status)
  expect(statuses[0]).toBe(200)
  expect(statuses.at(-1)).toBe(429)
  expect((await other.get()).status).toBe(200)
})
