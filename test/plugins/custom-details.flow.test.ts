import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fileURLToPath } from 'node:url'
import { basic } from '../support/clients/clients.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { person, redirectUri, startServer, webClient, type TestServer } from '../support/server/server.js'

const plugin = fileURLToPath(new URL('../support/server/account-access.ts', import.meta.url))
const api = 'https://api.example/'
const other = 'https://other.example/'
const bank = {
  ...webClient,
  authorization_details_types: ['account_access'],
  allowed_audiences: [api, other],
  metadata: { most: 3 },
}
const challenge = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

type Answer = Readonly<Record<string, unknown>>
interface Detail {
  readonly accounts: unknown
  readonly locations?: unknown
}

describe('a type of authorization_details that a plugin has', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      log: { debug() {}, info() {}, warn() {}, error() {} },
      configure: (written) => ({
        ...written,
        plugins: [...(written['plugins'] as object[]), { use: plugin }],
        clients: [bank],
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const named = (details: readonly Detail[]) =>
    JSON.stringify(details.map((one) => ({ type: 'account_access', ...one })))
  const post = async (path: string, form: Record<string, string>) => {
    const headers = { authorization: basic(bank) }
    const response = await fetch(server.issuer + path, { method: 'POST', headers, body: new URLSearchParams(form) })
    return { status: response.status, body: (await response.json()) as Answer }
  }
  const asked = (details: readonly Detail[]) => ({
    ...{ redirect_uri: redirectUri, response_type: 'code', scope: 'openid offline_access', ...challenge },
    authorization_details: named(details),
  })
  const push = (detail: Detail) => post('/par', asked([detail]))
  const url = (details: readonly Detail[], more = '') =>
    `${server.issuer}/authorize?${new URLSearchParams({ client_id: 'web', ...asked(details) })}${more}`
  const redeem = (left: URL, details?: readonly Detail[], more: Record<string, string> = {}) =>
    post('/token', {
      ...{ grant_type: 'authorization_code', code: left.searchParams.get('code') ?? '', redirect_uri: redirectUri },
      ...(details && { authorization_details: named(details) }),
      ...{ code_verifier: verifier, ...more },
    })

  it('is named in the discovery document, read on the page, and narrowed at /token', async () => {
    const metadata = (await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()) as Answer
    expect(metadata['authorization_details_types_supported']).toEqual(['account_access'])
    const agent = new UserAgent()
    const login = await agent.follow(url([{ accounts: ['1', '2'] }]))
    const page = await agent.submit(login.url, await login.response.text(), { ...person })
    const html = await page.response.text()
    for (const text of ['See accounts', 'No. 1', 'No. 2']) expect(html).toContain(text)
    const { left } = await agent.submit(page.url, html, { decision: 'allow' })
    if (left === undefined) throw new Error('no answer')
    for (const more of [
      [{ accounts: ['1'], locations: ['https://evil.example/'] }],
      [{ accounts: ['1', '3'] }],
      [{ accounts: 'x' }],
      [{ accounts: ['1'], more: 1 }],
    ])
      expect((await redeem(left, more)).body['error']).toBe('invalid_authorization_details')
    const { body } = await redeem(left, [{ accounts: ['2'] }])
    expect(body['authorization_details']).toEqual([{ type: 'account_access', accounts: ['2'] }])
    const all = await post('/token', { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) })
    expect(all.body['authorization_details']).toEqual([{ type: 'account_access', accounts: ['1', '2'] }])
  })

  it('RA14 gives one detail for each that was granted', async () => {
    const left = await new UserAgent().authorize(url([{ accounts: ['1', '2'] }]), person)
    for (const twice of [
      [{ accounts: ['1', '2'] }, { accounts: ['1', '2'] }],
      [{ accounts: ['1'] }, { accounts: ['2'] }],
      [{ accounts: ['1', '2'] }, { accounts: ['1'] }],
    ])
      expect((await redeem(left, twice)).body['error']).toBe('invalid_authorization_details')
    expect((await redeem(left)).status).toBe(200)
  })

  it('is checked by the plugin, whose outage is an outage and whose bug is ours to see', async () => {
    expect((await push({ accounts: ['1', '2', '3'] })).status).toBe(201)
    const refused = { status: 400, body: { error: 'invalid_authorization_details' } }
    expect(await push({ accounts: ['1', '2', '3', '4'] })).toMatchObject(refused)
    expect(await push({ accounts: ['down'] })).toMatchObject({
      status: 503,
      body: { error: 'temporarily_unavailable' },
    })
    expect(await push({ accounts: ['bug'] })).toMatchObject({ status: 500, body: { error: 'server_error' } })
  })

  it('RA13 has locations that the client may ask tokens for', async () => {
    for (const locations of [['https://evil.example/'], [api, 'https://evil.example/'], api, [], [1], {}, null])
      expect(await push({ accounts: ['1'], locations }), JSON.stringify(locations)).toMatchObject({
        ...{ status: 400, body: { error: 'invalid_authorization_details' } },
      })
    expect((await push({ accounts: ['1'], locations: [api] })).status).toBe(201)
  })

  it('is in tokens for its locations alone', async () => {
    const details = [
      { accounts: ['1'], locations: [api] },
      { accounts: ['2'], locations: [other] },
      { accounts: ['3'] },
    ]
    const resources = `&resource=${encodeURIComponent(api)}&resource=${encodeURIComponent(other)}`
    const left = await new UserAgent().authorize(url(details, resources), person)
    const { body } = await redeem(left, undefined, { resource: api })
    const accounts = (answer: Answer) =>
      (answer['authorization_details'] as readonly { readonly accounts: readonly string[] }[]).flatMap(
        (one) => one.accounts,
      )
    expect(accounts(body)).toEqual(['1', '3'])
    const refreshed = await post('/token', {
      ...{ grant_type: 'refresh_token', refresh_token: String(body['refresh_token']), resource: other },
    })
    expect(accounts(refreshed.body)).toEqual(['2', '3'])
  })
})
