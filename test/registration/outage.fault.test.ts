import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, issueToken, manage, post, register } from '../support/clients/registration.js'
import { redirectUri } from '../support/server/server.js'
import { expectRefusal, startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { failingAudit, failingStore, inBothRoles, type Faults } from '../support/stores/failing-store.js'

const web = { redirect_uris: [redirectUri] }
const faults: Faults = new Map()
const lost = new Set<string>()

let host: TokenServer
let issuer: string
beforeAll(async () => {
  host = await startTokenServer({
    doubles: { stores: inBothRoles(failingStore(faults)), audit: failingAudit(lost) },
    configure: (written) => ({
      ...written,
      registration: { mode: 'open' },
      rate_limits: { ...(written['rate_limits'] as object), register: { address_open: 2 } },
    }),
  })
  ;({ issuer } = host.server)
})
afterAll(() => host[Symbol.asyncDispose]())

const clients = async () => (await host.store.records('clients').list(undefined, 100)).length

describe('RG11', () => {
  it.each([
    ['clients.put', 'before'],
    ['clients.put', 'after'],
    ['initial_access_tokens.find', 'before'],
    ['initial_access_tokens.update', 'before'],
    ['*', 'before'],
  ] as const)('%s failing %s is 503, and the initial access token keeps its use', async (verb, when) => {
    const token = await issueToken(host.store, host.now)
    faults.set(verb, when)
    const answer = await post(issuer, web, bearer(token))
    faults.clear()
    expectRefusal(answer, 503, 'temporarily_unavailable')
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]$/)
    expect((await post(issuer, web, bearer(token))).status).toBe(201)
  })

  it('an audit log that cannot be written is 503, leaves no client, and the token keeps its use', async () => {
    const token = await issueToken(host.store, host.now)
    const before = await clients()
    lost.add('client.registered')
    expectRefusal(await post(issuer, web, bearer(token)), 503, 'temporarily_unavailable')
    lost.clear()
    expect(await clients()).toBe(before)
    expect((await post(issuer, web, bearer(token))).status).toBe(201)
  })

  it('a change or an end that cannot be stored or recorded is 503, and the token of the registration still works', async () => {
    const told = await register(issuer, web, await issueToken(host.store, host.now))
    const change = () => manage('PUT', told, { ...web, client_id: told.client_id })
    for (const attempt of [change, () => manage('DELETE', told), () => manage('GET', told)]) {
      faults.set('*', 'before')
      expectRefusal(await attempt(), 503, 'temporarily_unavailable')
      faults.clear()
    }
    for (const event of ['client.updated', 'client.deleted']) lost.add(event)
    for (const attempt of [change, () => manage('DELETE', told)])
      expectRefusal(await attempt(), 503, 'temporarily_unavailable')
    lost.clear()
    expect((await change()).status).toBe(200)
  })
})

describe('RG10', () => {
  it('an address may register a limited number of clients without a token; others and tokens are unaffected', async () => {
    const address = { 'x-forwarded-for': '203.0.113.7' }
    for (let registered = 0; registered < 2; registered++) expect((await post(issuer, web, address)).status).toBe(201)
    // What is refused takes no place.
    expect((await post(issuer, { redirect_uris: [] }, address)).status).toBe(400)
    const over = await post(issuer, web, address)
    expectRefusal(over, 429, 'temporarily_unavailable')
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(3500)
    const token = await issueToken(host.store, host.now)
    expect((await post(issuer, web, { ...address, ...bearer(token) })).status).toBe(201)
    expect((await post(issuer, web)).status).toBe(201)
  })
})
