import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deviceGrant, personAt, tvClient, boxClient, withDevices } from '../support/clients/device.js'
import { basic } from '../support/clients/clients.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { person, publicClient, startServer, type TestServer } from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'

// How much one address may leave open before anyone has proved who they are.

let now = Date.now()
let server: TestServer
beforeAll(async () => {
  server = await startServer({
    clock: () => now,
    configure: (written) => ({
      ...withDevices(written),
      trusted_proxies: ['127.0.0.0/8'],
      rate_limits: {
        authorize: { address_per_minute: 10_000, address_open: 20 },
        device_authorization: { address_open: 10 },
      },
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const urlWith = (more: Readonly<Record<string, string>> = {}): string =>
  authorizeUrl(server.issuer, { client_id: publicClient.client_id, ...more })
const from = (address: string) => ({ 'x-forwarded-for': address })
const open = (address: string, url = urlWith()) => fetch(url, { redirect: 'manual', headers: from(address) })
const statuses = async (count: number, ask: () => Promise<Response>): Promise<Record<number, number>> => {
  const found: Record<number, number> = {}
  for (const { status } of await Promise.all(Array.from({ length: count }, ask)))
    found[status] = (found[status] ?? 0) + 1
  return found
}

describe('open sign-ins', () => {
  it('AN02 are bounded for one address, and another address is unaffected', async () => {
    expect(await statuses(30, () => open('192.0.2.1'))).toEqual({ 303: 20, 429: 10 })
    const refused = await open('192.0.2.1')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(500)
    expect(await refused.text()).toContain('<h1>Authorization error</h1>')
    expect((await open('192.0.2.1', `${server.issuer}/device`)).status).toBe(429)
    expect((await open('192.0.2.2')).status).toBe(303)
    expect(await statuses(25, () => open('2001:db8::1'))).toEqual({ 303: 20, 429: 5 })
    expect((await open('2001:db8::2')).status).toBe(429)
    const lines = (await server.audit()).filter(({ reason }) => reason === 'too many open sign-ins for one address')
    expect(lines.length).toBeGreaterThan(0)
    const metrics = await (await fetch(`${server.admin}/metrics`)).text()
    expect(metrics).toMatch(/^signet_rate_limit_hits_total\{limit="authorize_open",issuer="[^"]+"\} \d+$/m)
  })

  it('AN02 a cross-site POST takes a slot too', async () => {
    const posted = () =>
      fetch(`${server.issuer}/authorize`, {
        method: 'POST',
        redirect: 'manual',
        headers: { ...from('192.0.2.3'), 'sec-fetch-site': 'cross-site' },
        body: new URL(urlWith()).searchParams,
      })
    expect(await statuses(25, posted)).toEqual({ 303: 20, 429: 5 })
  })

  it('AN02 a finished sign-in frees its slot, so any number of people can follow each other', async () => {
    const address = '192.0.2.4'
    expect(await statuses(19, () => open(address))).toEqual({ 303: 19 })
    for (let count = 0; count < 5; count += 1) {
      const agent = new UserAgent(from(address))
      const callback = await agent.authorize(new URL(urlWith()), person)
      expect(callback.searchParams.has('code')).toBe(true)
    }
    expect(await statuses(3, () => open(address))).toEqual({ 303: 1, 429: 2 })
  })

  it('AN02 a signed-in person needs no slot', async () => {
    const address = '192.0.2.5'
    const agent = new UserAgent(from(address))
    await agent.authorize(new URL(urlWith()), person)
    expect(await statuses(25, () => open(address))).toEqual({ 303: 20, 429: 5 })
    const again = await agent.authorize(new URL(urlWith()), person)
    expect(again.searchParams.has('code')).toBe(true)
  })

  it('AN02 are possible again when earlier ones have expired', async () => {
    const address = '192.0.2.6'
    expect(await statuses(21, () => open(address))).toEqual({ 303: 20, 429: 1 })
    const wait = Number((await open(address)).headers.get('retry-after'))
    now += wait * 1000
    expect(await statuses(21, () => open(address))).toEqual({ 303: 20, 429: 1 })
  })
})

describe('open device codes', () => {
  const start = (address: string, client: { client_id: string; client_secret?: string } = tvClient) =>
    fetch(`${server.issuer}/device_authorization`, {
      method: 'POST',
      headers: {
        ...from(address),
        ...(client.client_secret !== undefined && {
          authorization: basic({ client_id: client.client_id, client_secret: client.client_secret }),
        }),
      },
      body: new URLSearchParams({
        scope: 'openid',
        ...(client.client_secret === undefined && { client_id: client.client_id }),
      }),
    })

  it('AN03 of public clients are bounded for one address; those of a client with a secret are not', async () => {
    const address = '192.0.2.11'
    expect(await statuses(15, () => start(address))).toEqual({ 200: 10, 429: 5 })
    const refused = await start(address)
    expect(await refused.json()).toMatchObject({ error: 'slow_down' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60)
    expect(await statuses(3, () => start(address, boxClient))).toEqual({ 200: 3 })
    expect((await start('192.0.2.12')).status).toBe(200)
  })

  it('AN03 open ones can still be answered and redeemed', async () => {
    const address = '192.0.2.13'
    const first = (await (await start(address)).json()) as Record<string, string>
    expect(await statuses(12, () => start(address))).toEqual({ 200: 9, 429: 3 })
    const answered = await personAt(new UserAgent(from('192.0.2.14')), server.issuer).answer(
      person,
      first['user_code'] ?? '',
    )
    expect(answered.status).toBe(200)
    const token = await fetch(`${server.issuer}/token`, {
      method: 'POST',
      headers: from(address),
      body: new URLSearchParams({
        grant_type: deviceGrant,
        client_id: tvClient.client_id,
        device_code: first['device_code'] ?? '',
      }),
    })
    expect(token.status).toBe(200)
  })
})
