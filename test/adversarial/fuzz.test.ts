import { Agent, request } from 'node:http'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { person, redirectUri, serviceClient, webClient } from '../support/server.js'
import { UserAgent } from '../support/user-agent.js'
import { basic, clients } from './support/clients.js'
import { challenge, verifier } from './support/mint.js'
import { fuzzedRequests, type Base, type Fuzzed } from './support/fuzzed-requests.js'
import { startTokenServer, type TokenServer } from './support/token-server.js'

// Anything at all to every public route: SIGNET_FUZZ_RUNS requests, most of them nearly right.

const runs = Number(process.env['SIGNET_FUZZ_RUNS'] ?? 2000)
const goodEvery = 100

let host: TokenServer
const errors: string[] = []
const agent = new Agent({ keepAlive: true, maxSockets: 4 })
const known: string[] = []
const cookies: string[] = []
let interaction = ''
const bases: Base[] = []

beforeAll(async () => {
  const log = { debug() {}, info() {}, warn() {}, error: (message: string) => void errors.push(message) }
  host = await startTokenServer({ log })
  const user = new UserAgent()
  const query = {
    client_id: 'web',
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid offline_access',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  const url = `${host.server.issuer}/authorize?${new URLSearchParams(query)}`
  const callback = await user.authorize(url, person)
  const code = callback.searchParams.get('code') ?? ''
  const { body } = await host.redeem(code)
  const stranger = new UserAgent()
  const page = await stranger.follow(url)
  interaction = page.url.pathname.split('/')[2] ?? ''
  const csrf = /name="csrf"[^>]*value="([^"]+)"/.exec(await page.response.text())?.[1] ?? ''
  const { token } = await host.mint.refreshToken()
  known.push(...Object.values(query), code, ...Object.values(body).map(String), token, csrf, verifier, interaction)
  known.push((await host.mint.code()).code, (await host.mint.code({ clientId: 'app' })).code, person.username)
  known.push(...clients.flatMap((client) => [client.client_id, 'client_secret' in client ? client.client_secret : '']))
  known.push(
    'authorization_code',
    'refresh_token',
    'client_credentials',
    'form_post',
    'query',
    'none',
    'login',
    'consent',
  )
  for (const { cookies: jar } of [user, stranger])
    cookies.push([...jar].map(([name, { value }]) => `${name}=${value}`).join('; '))

  const exchange = { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: verifier }
  const authorization = basic(webClient)
  const [signedIn = '', anonymous = ''] = cookies
  const tokenBase = (held: Record<string, string>, headers: Record<string, string> = {}): Base => ({
    method: 'POST',
    path: '/token',
    headers,
    form: held,
  })
  const pageBase = (at: string): Base => ({
    method: 'POST',
    path: `/interaction/${interaction}/${at}`,
    headers: { cookie: anonymous },
    form: { csrf, username: 'alice', password: 'wrong', decision: 'allow' },
  })
  for (let index = 0; index < 20; index++) {
    bases.push(tokenBase({ ...exchange, code: (await host.mint.code()).code }, { authorization }))
    bases.push(tokenBase({ ...exchange, client_id: 'app', code: (await host.mint.code({ clientId: 'app' })).code }))
    const { token: refresh_token } = await host.mint.refreshToken()
    bases.push(tokenBase({ grant_type: 'refresh_token', client_id: 'app', refresh_token }))
    bases.push(tokenBase({ grant_type: 'client_credentials', scope: 'read' }, { authorization: basic(serviceClient) }))
    for (const cookie of [signedIn, anonymous, ''])
      bases.push({ method: 'GET', path: '/authorize', headers: cookie === '' ? {} : { cookie }, form: query })
    bases.push({ method: 'POST', path: '/authorize', headers: { cookie: signedIn }, form: query })
    const bearer = { authorization: `Bearer ${String(body['access_token'])}` }
    bases.push({ method: 'GET', path: '/userinfo', headers: bearer, form: {} })
    bases.push({ method: 'POST', path: '/userinfo', headers: bearer, form: {} })
    bases.push(pageBase('consent'))
  }
  bases.push(pageBase('login'))
})
afterAll(async () => {
  agent.destroy()
  await host[Symbol.asyncDispose]()
})

const send = ({ method, target, headers, body }: Fuzzed) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const { hostname, port } = new URL(host.server.issuer)
    const bytes = Buffer.from(body, 'latin1')
    const length = bytes.length === 0 ? {} : { 'content-length': bytes.length }
    const sent = request(
      { hostname, port, method, path: target, agent, headers: { ...headers, ...length } },
      (response) => {
        let received = ''
        response.on('data', (chunk: Buffer) => (received += chunk.toString()))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: received }))
        response.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(bytes)
  })

describe(`${runs} requests of any kind`, () => {
  it(
    'never cause a 5xx, tell nothing of the inside, and leave the service as it was',
    async () => {
      let count = 0
      const statuses = new Map<number, number>()
      const requests = fuzzedRequests({ known, cookies, bases, interaction })
      await fc.assert(
        fc.asyncProperty(requests, async (input) => {
          const { status, text: told } = await send(input)
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          expect(status).toBeGreaterThanOrEqual(200)
          expect(status).toBeLessThan(500)
          expect(told).not.toMatch(/node_modules|\.[jt]s:\d+:\d+|node:internal/)
          expect(errors).toEqual([])
          if (++count % goodEvery === 0) await host.expectGood()
        }),
        { numRuns: runs },
      )
      await host.expectGood()
      expect(({} as Record<string, unknown>)['x']).toBeUndefined()
      // A fuzzer that is always turned away at the door has tested the door.
      for (const status of [200, 303, 400, 401, 404, 405]) expect([...statuses.keys()]).toContain(status)
      console.log(JSON.stringify(Object.fromEntries([...statuses].sort(([a], [b]) => a - b))))
    },
    60_000 + runs * 50,
  )
})
