import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createClientUses, type ClientUse } from '../../core/oauth/clients/client-uses.js'
import type { RecordDecision } from '../../core/storage/ports.js'
import { Unavailable } from '../../core/unavailable.js'
import { openCommandLine, requestToken, type Service } from '../support/server/command-line.js'
import { startOperatorServer } from '../support/server/operator-server.js'

it('the last day of use and the effective settings of a client are shown', async () => {
  await using server = await startOperatorServer()
  const operator = await server.as('operator')
  const body = {
    client_id: 'shop',
    client_name: 'Shop',
    grant_types: ['client_credentials'],
    redirect_uris: [],
    consent: 'required',
  }
  const { client_secret } = (await operator('/clients', { method: 'POST', body })).body
  expect((await operator('/clients/shop')).body.last_used).toBeUndefined()
  expect((await requestToken({ public: server.issuer } as Service, 'shop', client_secret)).status).toBe(200)
  await expect.poll(async () => (await operator('/clients/shop')).body.last_used).toMatch(/^\d{4}-\d\d-\d\d$/)
  const { algorithms, effective, last_used } = (await operator('/clients/shop')).body
  expect(Object.values(algorithms)).toEqual([last_used])
  expect(effective).toMatchObject({
    consent: { value: 'required', from: 'client' },
    subject_type: { value: 'public', from: 'default' },
    id_token_signed_response_alg: { value: expect.any(String), from: 'deployment' },
    access_token_ttl_secs: { value: expect.any(Number), from: 'deployment' },
  })
  const { items } = (await operator('/clients?search=shop')).body
  expect(items).toMatchObject([{ client_id: 'shop', last_used }])
  await using commands = await openCommandLine()
  const config = join(server.directory, 'signet.yaml')
  const shown = await commands.run(['clients', 'show', 'shop', '--effective', '--json', '--config', config])
  expect(JSON.parse(shown.stdout)).toMatchObject({ last_used, algorithms, effective })
  expect((await commands.run(['clients', 'list', '--wide', '--config', config])).stdout).toContain(last_used)
})

const signed = (client_id: string, ...algs: string[]) => ({
  ...{ event: 'token.signed' as const, client_id },
  signatures: algs.map((alg) => ({ alg })),
})

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

it('a use is written once a day, and an outage costs one attempt in a minute', async () => {
  let now = Date.parse('2026-11-26T10:00:00Z')
  let isDown = false
  let writes = 0
  const kept = new Map<string, ClientUse>()
  const store = {
    async update<Result>(id: string, decide: RecordDecision<ClientUse, Result>): Promise<Result> {
      writes++
      if (isDown) throw new Unavailable('storage.records', 'no', 'down')
      const { result, write } = decide(kept.get(id))
      if (write) kept.set(id, write.record)
      return result
    },
  }
  const note = createClientUses(store, () => now)
  for (let count = 0; count < 100; count++) note(signed('shop', 'ES256', 'RS256'))
  await turns()
  note(signed('shop', 'ES256', 'RS256'))
  note({ event: 'token.refused', client_id: 'other' })
  await turns()
  expect(writes).toBe(1)
  now += 86_400_000
  isDown = true
  note(signed('shop', 'ES256'))
  await turns()
  for (let count = 0; count < 100; count++) note(signed('till', 'ES256'))
  await turns()
  expect(writes).toBe(2)
  isDown = false
  now += 61_000
  note(signed('shop', 'ES256'))
  await turns()
  expect(kept.get('shop')).toEqual({ last: '2026-11-27', algorithms: { ES256: '2026-11-27', RS256: '2026-11-26' } })
})
