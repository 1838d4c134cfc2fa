import { join } from 'node:path'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { loadPages } from '../../core/host/load-pages.js'
import { otherShopClient, shopClient } from '../support/clients/ciba.js'
import { collectionsOf } from '../support/forge/mint.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { startCibaServer, type CibaServer, type Phone } from '../support/server/ciba-server.js'
import { noAnswers, openSite, type Site } from '../support/server/site.js'

const token = 'a-notification-token-of-the-shop-8d67dc78'
const pinged = (url: string) => ({
  ...shopClient,
  backchannel_token_delivery_mode: 'ping',
  backchannel_client_notification_endpoint: `${url}/ping?tenant=1`,
})

const keep = disposeAfterAll()
let shop: Site
let server: CibaServer
let phone: Phone
beforeAll(async () => {
  shop = keep(await openSite(noAnswers['answers 204']))
  server = await startCibaServer({}, (written) => ({
    ...written,
    outbound: { allow_private_addresses: true },
    clients: [pinged(shop.url), otherShopClient],
  }))
  phone = await server.newPhone()
})
afterAll(() => server[Symbol.asyncDispose]())
beforeEach(() => {
  shop.asked.length = 0
  shop.answer = noAnswers['answers 204']!
})

const events = async (name: string) => (await server.host.server.audit()).filter(({ event }) => event === name)
const ask = { client_notification_token: token }
/** Time goes on until what waits in the outbox is due. */
const pings = (count: number) =>
  expect
    .poll(
      () => {
        server.host.later(1000)
        return shop.asked
      },
      { interval: 100, timeout: 10_000 },
    )
    .toHaveLength(count)

describe('a client in ping mode', () => {
  it('is notified once that the person has decided, and gets its tokens with one request', async () => {
    const config = await oidc.discovery(
      new URL(server.issuer),
      shopClient.client_id,
      undefined,
      oidc.ClientSecretBasic(shopClient.client_secret),
      { execute: [oidc.allowInsecureRequests] },
    )
    expect(config.serverMetadata().backchannel_token_delivery_modes_supported).toEqual(['poll', 'ping'])
    const started = await oidc.initiateBackchannelAuthentication(config, {
      ...{ scope: 'openid profile', login_hint: 'alice', binding_message: 'Order W4SCT' },
      ...ask,
    })
    const [waiting] = await phone.list()
    expect(JSON.stringify(waiting)).not.toContain(token)
    await phone.decide(waiting!)
    await pings(1)
    expect(shop.asked[0]).toMatchObject({
      method: 'POST',
      path: '/ping?tenant=1',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    })
    expect(JSON.parse(String(shop.asked[0]?.body))).toEqual({ auth_req_id: started.auth_req_id })
    const tokens = await oidc.pollBackchannelAuthenticationGrant(config, { ...started, interval: 0 })
    expect(tokens.claims()).toMatchObject({ amr: ['pop'] })
    const [approved] = await events('backchannel.approved')
    await expect
      .poll(() => events('backchannel.pinged'))
      .toMatchObject([{ client_id: 'shop', approval: approved?.['approval'] }])
    const lines = JSON.stringify(await server.host.server.audit())
    for (const secret of [token, started.auth_req_id]) expect(lines).not.toContain(secret)
  })

  it('is notified of a denial, but not of refused requests', async () => {
    const id = await server.start(ask)
    const [waiting] = await phone.list()
    const changed = { ...waiting!, request: { ...waiting!.request, scope: 'openid' } }
    expect((await phone.decide(changed)).status).toBe(400)
    await phone.decide(waiting!, 'deny')
    expect((await phone.decide(waiting!)).status).toBe(409)
    await pings(1)
    expect(await server.poll(id)).toMatchObject({ status: 400, body: { error: 'access_denied' } })
    expect(shop.asked).toHaveLength(1)
  })

  it.each([500, 503, 429, 408, 425])(
    'CB15 is notified again when it answers %i, until it accepts the ping',
    async (status) => {
      shop.answer = (_request, response) => void response.writeHead(status).end()
      await server.start(ask)
      await phone.decide((await phone.list())[0]!, 'deny')
      await pings(1)
      shop.answer = noAnswers['answers 204']!
      const before = (await events('backchannel.pinged')).length
      await pings(2)
      await expect.poll(async () => (await events('backchannel.pinged')).length).toBe(before + 1)
      expect(shop.asked.map(({ path }) => path)).toEqual(['/ping?tenant=1', '/ping?tenant=1'])
      // A host that has failed rests for a while.
      server.host.later(600_000)
    },
  )

  it.each([400, 401, 403, 404, 410, 301, 302, 307, 308])(
    'CB15 is notified once when it answers %i, because a retry would not help',
    async (status) => {
      shop.answer = (_request, response) => void response.writeHead(status, { location: '/elsewhere' }).end()
      const before = (await events('backchannel.unpinged')).length
      const id = await server.start(ask)
      await phone.decide((await phone.list())[0]!)
      await pings(1)
      await expect
        .poll(async () => (await events('backchannel.unpinged')).slice(before))
        .toMatchObject([{ client_id: 'shop', reason: `The answer has status ${String(status)}` }])
      const { pingDeliveries } = collectionsOf(server.host.store)
      await expect.poll(() => pingDeliveries.list(undefined, 10)).toEqual([])
      expect(shop.asked.map(({ path }) => path)).toEqual(['/ping?tenant=1'])
      expect((await server.poll(id)).status).toBe(200)
    },
  )

  it.each([
    ['none', {}],
    ['a short one', { client_notification_token: 'a'.repeat(21) }],
    ['a long one', { client_notification_token: 'a'.repeat(1025) }],
    ['one with a line', { client_notification_token: `${token}\r\nX-Other: 1` }],
    ['one that no bearer token is', { client_notification_token: `${token} ${token}` }],
  ])('CB14 needs a client_notification_token: %s is refused', async (_, form) => {
    expect(await server.ask({ login_hint: 'alice', ...form })).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_description: expect.stringContaining('client_notification_token') },
    })
    expect(await phone.list()).toEqual([])
  })

  it('does not affect clients that poll, whatever they send', async () => {
    const id = await server.start(ask, otherShopClient)
    await phone.decide((await phone.list())[0]!)
    expect((await server.poll(id, otherShopClient)).status).toBe(200)
    const { pingDeliveries } = collectionsOf(server.host.store)
    const waiting = await pingDeliveries.list(undefined, 10)
    expect(waiting.filter(({ record }) => record.clientId === otherShopClient.client_id)).toEqual([])
  })
})

it('CB15 no ping goes to a private address unless the operator allows it', async () => {
  await using guarded = await startCibaServer({}, (written) => ({ ...written, clients: [pinged(shop.url)] }))
  const { warnings } = await checkConfiguration(join(guarded.host.server.directory, 'signet.yaml'), {}, loadPages)
  expect(warnings).toContainEqual(
    expect.objectContaining({
      path: 'clients[0].backchannel_client_notification_endpoint',
      message: expect.stringContaining('is private') as string,
    }),
  )
  const device = await guarded.newPhone()
  await guarded.start(ask)
  await device.decide((await device.list())[0]!)
  const undelivered = async () => {
    guarded.host.later(20_000)
    return (await guarded.host.server.audit()).filter(({ event }) => event === 'backchannel.unpinged')
  }
  await expect
    .poll(undelivered, { interval: 300, timeout: 20_000 })
    .toMatchObject([{ client_id: 'shop', reason: expect.stringMatching(/address is private/) as string }])
  expect(shop.asked).toEqual([])
})

describe('the endpoint of a client for notifications', () => {
  const without = { ...shopClient, backchannel_token_delivery_mode: 'ping' }
  const path = 'backchannel_client_notification_endpoint'
  it.each<[string, Record<string, unknown>, string, RegExp]>([
    ['is required', without, path, /is required/],
    ['is of no use to others', { ...shopClient, [path]: 'https://shop.example' }, path, /for .* ping alone/],
    ['is https', pinged('http://shop.example'), path, /must be https/],
    ['is text', { ...without, [path]: 1 }, path, /must be a string/],
    [
      'is not for push',
      { ...without, backchannel_token_delivery_mode: 'push' },
      'backchannel_token_delivery_mode',
      /poll or ping/,
    ],
  ])('%s', (_title, metadata, at, message) => {
    const { problems } = parseClientMetadata(metadata, ['openid', 'profile', 'offline_access', 'read'])
    expect(problems).toContainEqual({ path: at, message: expect.stringMatching(message) as string })
  })

  it('needs the grant', async () => {
    const client = { ...pinged('https://shop.example'), grant_types: ['client_credentials'] }
    const start = startCibaServer({}, (written) => ({ ...written, clients: [client] }))
    await expect(start).rejects.toThrow(/clients\[0\]\.backchannel_token_delivery_mode.*needs the grant/s)
  })
})
