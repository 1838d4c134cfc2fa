import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRateLimits } from '../../core/endpoints/rate-limits.js'
import { json, type EndpointRequest } from '../../core/endpoints/message.js'
import { createAttemptLimiter } from '../../core/storage/attempts.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { AttemptLimiter } from '../../core/storage/ports.js'
import { Unavailable } from '../../core/unavailable.js'
import { basic } from '../support/clients/clients.js'
import { withDevices } from '../support/clients/device.js'
import { publicClient, serviceClient, startServer, type TestServer } from '../support/server/server.js'

type Json = Record<string, unknown>

let now = Date.UTC(2026, 10, 20, 12, 0, 0)
const clock = () => now

const start = (rates: Json, more: Json = {}): Promise<TestServer> => {
  const other = { ...serviceClient, client_id: 'other' }
  return startServer({
    clock,
    configure: (written) => ({
      ...written,
      trusted_proxies: ['127.0.0.1/32'],
      clients: [...(written['clients'] as Json[]), other],
      rate_limits: rates,
      ...more,
    }),
  })
}

const token = (server: TestServer, address: string, client = serviceClient) =>
  fetch(`${server.issuer}/token`, {
    method: 'POST',
    headers: { authorization: basic(client), 'x-forwarded-for': address },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })

const statuses = async (count: number, ask: () => Promise<Response>): Promise<Record<number, number>> => {
  const found: Record<number, number> = {}
  for (const { status } of await Promise.all(Array.from({ length: count }, ask)))
    found[status] = (found[status] ?? 0) + 1
  return found
}

describe('requests of one address', () => {
  it('are limited for a minute, and those of another address are not', async () => {
    await using server = await start({ token: { address_per_minute: 20 } })
    expect(await statuses(50, () => token(server, '192.0.2.1'))).toEqual({ 200: 20, 429: 30 })
    const refused = await token(server, '192.0.2.1')
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' })
    const wait = Number(refused.headers.get('retry-after'))
    expect(wait).toBeGreaterThanOrEqual(60)
    expect(wait).toBeLessThanOrEqual(65)
    expect((await token(server, '192.0.2.2')).status).toBe(200)
    const metrics = await (await fetch(`${server.admin}/metrics`)).text()
    expect(metrics).toMatch(/^signet_rate_limit_hits_total\{limit="token_address",issuer="[^"]+"\} 31$/m)

    now += 60_000
    expect(await statuses(21, () => token(server, '192.0.2.1'))).toEqual({ 200: 20, 429: 1 })
  })

  it('are counted per IPv6 /64, and an untrusted forwarded address is ignored', async () => {
    await using server = await start({ token: { address_per_minute: 10 } })
    let host = 0
    expect(await statuses(15, () => token(server, `2001:db8::${String(++host)}`))).toEqual({ 200: 10, 429: 5 })
    expect((await token(server, '2001:db8:0:1::1')).status).toBe(200)

    await using direct = await start({ token: { address_per_minute: 10 } }, { trusted_proxies: [] })
    expect(await statuses(15, () => token(direct, `192.0.2.${String(++host)}`))).toEqual({ 200: 10, 429: 5 })
  })

  it('a limit that is smaller than its shares is kept, too', async () => {
    await using server = await start({ token: { address_per_minute: 3 }, authorize: { address_per_minute: 1 } })
    expect(await statuses(9, () => token(server, '192.0.2.1'))).toEqual({ 200: 3, 429: 6 })
    const page = () => fetch(`${server.issuer}/authorize?client_id=none`)
    expect((await page()).status).toBe(400)
    const refused = await page()
    expect(refused.status).toBe(429)
    expect(await refused.text()).toContain('<h1>Authorization error</h1>')
  })

  it('count where a sign-in for a device begins, because that stores as much', async () => {
    await using server = await startServer({
      configure: (written) => ({ ...withDevices(written), rate_limits: { authorize: { address_per_minute: 3 } } }),
    })
    const page = () => fetch(`${server.issuer}/device`, { redirect: 'manual' })
    expect(await statuses(9, page)).toEqual({ 303: 3, 429: 6 })
  })

  it('are counted together by the processes of one store, a tenth more for each further one', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'signet-rates-'))
    const stores = await Promise.all([1, 2, 3].map(() => openEmbedded({ path: directory, clock })))
    const endpoints = stores.map((store) =>
      createRateLimits(createAttemptLimiter(store.counters('counters')), clock).byAddress('token', 100, () =>
        json(200, {}),
      ),
    )
    let turn = 0
    const asked = await Promise.allSettled(
      Array.from({ length: 600 }, async () => endpoints[++turn % 3]!({ address: '192.0.2.1' } as EndpointRequest)),
    )
    const passed = asked.filter(({ status }) => status === 'fulfilled').length
    expect(passed).toBe(120)
    for (const store of stores) await store[Symbol.asyncDispose]()
    await rm(directory, { recursive: true })
  })
})

describe('requests of one client', () => {
  it('are limited across its addresses, and no other client can use them up', async () => {
    await using server = await start({ token: { client_per_minute: 10 } })
    let host = 0
    const wrong = { ...serviceClient, client_secret: 'a wrong one' }
    expect(await statuses(30, () => token(server, `192.0.2.${String(++host)}`, wrong))).toEqual({ 401: 30 })
    expect(await statuses(15, () => token(server, `192.0.2.${String(++host)}`))).toEqual({ 200: 10, 429: 5 })
    expect((await token(server, '192.0.2.1', { ...serviceClient, client_id: 'other' })).status).toBe(200)
    const claimed = () =>
      fetch(`${server.issuer}/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'refresh_token',
          client_id: publicClient.client_id,
          refresh_token: 'x',
        }),
      })
    expect(await statuses(20, claimed)).toEqual({ 400: 20 })
  })
})

describe('a store that does not answer', () => {
  it('is 503 past the process’s own tenth, and the limit resumes when the store is back', async () => {
    let isDown = true
    let asked = 0
    const attempts: AttemptLimiter = {
      take: () => {
        asked++
        if (isDown) return Promise.reject(new Unavailable('storage.ephemeral', 'unknown', 'down'))
        return Promise.resolve({ allowed: asked < 100, retryAfterSeconds: 0 })
      },
      clear: () => Promise.resolve(),
      giveBack: () => Promise.resolve(),
    }
    const endpoint = createRateLimits(attempts, clock).byAddress('token', 100, () => json(200, {}))
    const ask = async () => (await endpoint({ address: '192.0.2.1' } as EndpointRequest)).status
    for (let count = 0; count < 10; count++) expect(await ask()).toBe(200)
    expect(asked).toBe(0)
    await expect(ask()).rejects.toBeInstanceOf(Unavailable)
    isDown = false
    expect(await Promise.all(Array.from({ length: 10 }, ask))).toEqual(Array(10).fill(200))
    // One question for the ten of them.
    expect(asked).toBe(2)
  })
})
