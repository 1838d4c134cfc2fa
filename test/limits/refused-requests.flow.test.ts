import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { freePort } from '../support/free-port.js'
import { withDevices } from '../support/clients/device.js'
import { countRefusals } from '../support/forge/refusals.js'
import {
  person,
  prepareDeployment,
  publicClient,
  redirectUri,
  serviceClient,
  startServer,
  subject,
  webClient,
  type TestServer,
} from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'

type Json = Record<string, unknown>

const start = (rates: Json = {}, clock = Date.now) =>
  startServer({
    clock,
    configure: (written) => ({
      ...withDevices(written),
      trusted_proxies: ['127.0.0.1/32'],
      rate_limits: rates,
    }),
  })

const post = (server: TestServer, path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${server.issuer}${path}`, { method: 'POST', headers, body: new URLSearchParams(form), redirect: 'manual' })

/** One after the other from 50 senders. */
const sendMany = async (count: number, send: () => Promise<Response>): Promise<Record<number, number>> => {
  const found: Record<number, number> = {}
  let left = count
  const sender = async () => {
    while (left-- > 0) {
      const { status, body } = await send()
      await body?.cancel()
      found[status] = (found[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: 50 }, sender))
  return found
}

const metric = async (server: TestServer, name: string): Promise<number> => {
  const text = await (await fetch(`${server.admin}/metrics`)).text()
  return Number(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (.*)$`, 'm').exec(text)?.[1])
}

/** Of the request that this answer answers. */
const lineOf = async (server: TestServer, { headers }: Response): Promise<Json | undefined> =>
  (await server.audit()).find((line) => line['request_id'] === headers.get('x-request-id'))

const wide = { address_per_minute: 1_000_000 }

describe('requests of anyone', () => {
  const floods: readonly (readonly [path: string, event: string, error: string, init: RequestInit])[] = [
    ['/userinfo', 'userinfo.refused', 'invalid_token', {}],
    ['/revoke', 'client.refused', 'invalid_client', { method: 'POST' }],
    ['/token', 'client.refused', 'invalid_client', { method: 'POST' }],
    ['/introspect', 'client.refused', 'invalid_client', { method: 'POST' }],
    ['/device_authorization', 'client.refused', 'invalid_client', { method: 'POST' }],
  ]

  it.each(floods)('AN10 1,000 from one address to %s are a line a second with their count', async (...flood) => {
    const [path, event, error, init] = flood
    await using server = await start({ revoke: wide, device_authorization: wide, refused: wide })
    const file = join(server.directory, 'audit.jsonl')
    const sent = 1000
    const { size } = await stat(file)
    const began = Date.now()
    expect(await sendMany(sent, () => fetch(`${server.issuer}${path}`, init))).toEqual({ 401: sent })
    const lines = async () => (await server.audit()).filter((line) => line['event'] === event)
    await expect.poll(async () => countRefusals(await lines())).toBe(sent)
    const recorded = await lines()
    // The first one, one for each second that has passed, and one more where a second was cut in two.
    const seconds = Math.ceil((Date.now() - began) / 1000)
    expect(recorded.length).toBeLessThanOrEqual(2 + seconds)
    // A key is proved now and then, which is a line as well.
    expect((await stat(file)).size - size).toBeLessThanOrEqual(1000 * (2 + seconds))
    for (const line of recorded) expect(line).toMatchObject({ event, error, address: '127.0.0.1' })
    expect(recorded[0]).toMatchObject({ request_id: expect.stringMatching(/^[0-9a-f]{32}$/) })
    const text = await (await fetch(`${server.admin}/metrics`)).text()
    const counted = new RegExp(
      `^signet_audit_events_total\\{event="${event}",issuer="${server.issuer}"\\} ${String(sent)}$`,
      'm',
    )
    expect(text).toMatch(counted)
    expect(text).toMatch(
      new RegExp(`^signet_refusals_total\\{event="${event}",error="${error}",.*\\} ${String(sent)}$`, 'm'),
    )
    expect(text).toContain(`signet_audit_dropped_total{issuer="${server.issuer}"} 0\n`)
  })

  it('AN10 each refusal of an authenticated client gets a line', async () => {
    await using server = await start()
    const refused = () => post(server, '/revoke', {}, { authorization: basic(webClient) })
    for (let count = 0; count < 20; count++) {
      const line = await lineOf(server, await refused())
      expect(line).toMatchObject({ event: 'revocation.refused', client_id: 'web' })
      expect(line).not.toHaveProperty('count')
    }
  })

  it('AN17 name the address, and the client if it exists', async () => {
    await using server = await start()
    const from = { 'x-forwarded-for': '2001:db8:1:2:3::4' }
    const wrong = { ...serviceClient, client_secret: 'a wrong one, with a canary' }
    for (const path of ['/token', '/revoke', '/introspect', '/device_authorization']) {
      const named = await post(server, path, { token: 'x' }, { ...from, authorization: basic(wrong) })
      expect(named.status).toBe(401)
      expect(await named.text()).not.toContain('service')
    }
    const known = { event: 'client.refused', reason: 'wrong client_secret', address: '2001:db8:1:2' }
    const lines = () => server.audit()
    await expect.poll(async () => countRefusals(await lines(), { ...known, claimed_client_id: 'service' })).toBe(4)
    const nobody = await post(server, '/token', {}, { authorization: basic({ ...wrong, client_id: 'no such client' }) })
    const unknown = await lineOf(server, nobody)
    expect(unknown).toMatchObject({ reason: 'unknown client', address: '127.0.0.1' })
    // What is sent as an id may be a secret.
    expect(unknown).not.toHaveProperty('sent_client_id')
    expect(unknown).not.toHaveProperty('claimed_client_id')
    // Anyone can say to be a public client.
    const form = { client_id: publicClient.client_id, grant_type: 'refresh_token', refresh_token: 'x' }
    const claimed = await lineOf(server, await post(server, '/token', form))
    expect(claimed).toMatchObject({ event: 'token.refused', claimed_client_id: 'app' })
    expect(claimed).not.toHaveProperty('client_id')
    expect(JSON.stringify(await lines())).not.toMatch(/canary|no such client/)
  })

  const refuseRedirect = (origin: string, uri: string, from: string) =>
    fetch(`${origin}/authorize?${new URLSearchParams({ client_id: 'web', redirect_uri: uri })}`, {
      headers: { 'x-forwarded-for': from },
    })

  it('AN22 of a redirect URI that is not registered, the line and a loopback page have origin and path', async () => {
    await using server = await start()
    const sent: readonly (readonly [string, string?])[] = [
      ['https://user:canary@other.example:8443/cb/a?canary=1#canary', 'https://other.example:8443/cb/a'],
      ['com.example.app:/cb?canary', 'com.example.app:/cb'],
      [`https://other.example/${'x/'.repeat(500)}`, `https://other.example/${'x/'.repeat(89)}`],
      // What is as long as a token may be one.
      [`https://other.example/cb/${'x'.repeat(40)}`, 'https://other.example/cb/[redacted]'],
      ['canary'],
    ]
    for (const [index, [uri, shown]] of sent.entries()) {
      // One line for each address.
      const page = await refuseRedirect(server.issuer, uri, `192.0.2.${String(index)}`)
      const line = await lineOf(server, page)
      expect(line).toMatchObject({ event: 'authorization.refused', claimed_client_id: 'web' })
      expect(line?.['sent_redirect_uri']).toBe(shown)
      const html = await page.text()
      expect(html).not.toContain('canary')
      expect(html).toContain('<bdi id="error-client">web</bdi>')
      expect(html).toContain('for this client.<')
      if (shown === undefined) expect(html).not.toContain('error-redirect_uri')
      else expect(html).toContain(`id="error-redirect_uri">${shown}<`)
    }
    expect(JSON.stringify(await server.audit())).not.toContain('canary')
  })

  it('AN22 an issuer that is not on loopback shows neither', async () => {
    const port = await freePort()
    await using server = await startServer({
      configure: (written) => ({ ...written, issuer: 'https://id.example', listen: { host: '127.0.0.1', port } }),
    })
    const page = await refuseRedirect(`http://127.0.0.1:${port}`, 'https://other.example/cb', '192.0.2.1')
    expect(await lineOf(server, page)).toMatchObject({ sent_redirect_uri: 'https://other.example/cb' })
    const html = await page.text()
    expect(html).toContain('The redirect URI is not registered for this client.<')
    expect(html).not.toContain('other.example')
  })

  it('AN18 a sign-in that is refused names the account and the address, in the audit log alone', async () => {
    await using server = await start()
    const query = new URLSearchParams({
      client_id: 'web',
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    })
    const agent = new UserAgent()
    const { url, response } = await agent.follow(`${server.issuer}/authorize?${query}`)
    const html = await response.text()
    const guess = async (username: string) => {
      const { response: answer } = await agent.submit(url, html, { username, password: 'a wrong one' })
      expect(answer.status).toBe(403)
      expect(await answer.text()).not.toContain(subject)
      return lineOf(server, answer)
    }
    const like = { event: 'login.refused', reason: 'refused', address: '127.0.0.1', claimed_client_id: 'web' }
    expect(await guess(person.username)).toMatchObject({ ...like, sub: subject })
    const unknown = await guess('nobody')
    expect(unknown).toMatchObject(like)
    expect(unknown).not.toHaveProperty('sub')
  })

  it('AN19 are all in the audit log when the service has stopped', async () => {
    await using deployment = await prepareDeployment()
    {
      await using server = await deployment.start()
      expect(await sendMany(100, () => fetch(`${server.issuer}/userinfo`))).toEqual({ 401: 100 })
    }
    const text = await readFile(join(deployment.directory, 'audit.jsonl'), 'utf8')
    const lines = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Json]))
    expect(countRefusals(lines, { event: 'userinfo.refused' })).toBe(100)
  })
})

describe('an address whose requests are all refused', () => {
  it('AN13 gets 429 at every endpoint for the rest of the minute, and no other address does', async () => {
    let now = Date.UTC(2026, 10, 20, 12, 0, 0)
    await using server = await start({ refused: { address_per_minute: 30 } }, () => now)
    const anyone = () => fetch(`${server.issuer}/userinfo`)
    const honest = (headers: Record<string, string> = {}) =>
      post(server, '/token', { grant_type: 'client_credentials' }, { ...headers, authorization: basic(serviceClient) })
    for (let count = 0; count < 20; count++) expect((await anyone()).status).toBe(401)
    // What is answered, and what an authenticated client is refused, does not count.
    for (let count = 0; count < 20; count++) expect((await honest()).status).toBe(200)
    const own = () => post(server, '/revoke', {}, { authorization: basic(webClient) })
    for (let count = 0; count < 20; count++) expect((await own()).status).toBe(400)
    expect(await sendMany(20, anyone)).toEqual({ 401: 10, 429: 10 })
    const lines = (await server.audit()).length
    for (const path of ['/token', '/introspect', '/revoke', '/device_authorization']) {
      const refused = await post(server, path, {})
      expect(refused.status).toBe(429)
      expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(60)
    }
    expect((await honest()).status).toBe(429)
    expect((await honest({ 'x-forwarded-for': '192.0.2.1' })).status).toBe(200)
    expect(
      await metric(server, `signet_rate_limit_hits_total{limit="refused_address",issuer="${server.issuer}"}`),
    ).toBe(15)
    const later = (await server.audit()).slice(lines)
    expect(later.filter(({ error }) => error === 'temporarily_unavailable')).toEqual([])
    now += 60_000
    expect((await honest()).status).toBe(200)
  })
})

describe('every public endpoint', () => {
  const limits: readonly (readonly [limit: string, method: string, path: string])[] = [
    ['userinfo', 'GET', '/userinfo'],
    ['revoke', 'POST', '/revoke'],
    ['device_authorization', 'POST', '/device_authorization'],
    ['device_verify', 'POST', '/device/verify'],
    ['interaction', 'GET', '/interaction/x/login'],
    ['interaction', 'POST', '/interaction/x/consent'],
    ['documents', 'GET', '/jwks.json'],
    ['documents', 'GET', '/.well-known/openid-configuration'],
    ['documents', 'GET', '/'],
    ['documents', 'GET', '/assets/none'],
  ]

  it.each(limits)('AN14 has a limit for an address: %s, at %s %s', async (limit, method, path) => {
    await using server = await start({ [limit]: { address_per_minute: 3 } })
    const from = (address: string) => ({ method, headers: { 'x-forwarded-for': address } })
    const ask = (address: string) => fetch(`${server.issuer}${path}`, from(address))
    const { status } = await ask('192.0.2.2')
    expect(status).not.toBe(429)
    const found = await sendMany(10, () => ask('192.0.2.1'))
    // A turn of the minute gives three more.
    expect(found[429]).toBeGreaterThanOrEqual(4)
    expect(found[status]).toBe(10 - Number(found[429]))
    expect(
      await metric(server, `signet_rate_limit_hits_total{limit="${limit}_address",issuer="${server.issuer}"}`),
    ).toBe(found[429])
  })
})
