import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../support/clients/client-assertion.js'
import { deviceGrant, tvClient, withDevices } from '../support/clients/device.js'
import { createProver } from '../support/clients/dpop-proof.js'
import {
  person,
  publicClient,
  redirectUri,
  serviceClient,
  startServer,
  type TestServer,
} from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'

// Anonymous callers fill what they may fill, and everybody else goes on.

type Json = Record<string, unknown>

let now = Date.now()
const clock = () => now
const key = newAssertionKey()
const signer = {
  client_id: 'signer',
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [key.publicJwk] },
  grant_types: ['client_credentials'],
  scope: 'read',
}
const verifier = 'v'.repeat(43)
const challenge = '7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM'

const sized = (written: Json, megabytes: number): Json => {
  const storage = written['storage'] as Record<string, { readonly options: Json }>
  const withSize = ([role, choice]: [string, { readonly options: Json }]) => [
    role,
    { ...choice, options: { ...choice.options, max_size_mb: megabytes } },
  ]
  return { ...written, storage: Object.fromEntries(Object.entries(storage).map(withSize)) }
}

const start = (megabytes: number, rates: Json) =>
  startServer({
    clock,
    // Outages are what this is for.
    log: { debug() {}, info() {}, warn() {}, error() {} },
    configure: (written) => {
      return {
        ...sized(withDevices(written), megabytes),
        trusted_proxies: ['127.0.0.0/8'],
        clients: [...(withDevices(written)['clients'] as object[]), signer],
        rate_limits: rates,
      }
    },
  })

const authorizeUrl = (server: TestServer): string => {
  const query = new URLSearchParams({
    client_id: publicClient.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  })
  return `${server.issuer}/authorize?${query}`
}
/** As large as a request may be. */
const largest = (server: TestServer): URLSearchParams => {
  const form = new URL(authorizeUrl(server)).searchParams
  form.set('state', 's'.repeat(2048))
  form.set('nonce', 'n'.repeat(512))
  form.set('login_hint', 'h'.repeat(256))
  form.set('claims', JSON.stringify({ id_token: { acr: { value: 'c'.repeat(4050) } } }))
  return form
}
const attack = async (server: TestServer, address = '192.0.2.66'): Promise<number> => {
  const headers = { 'x-forwarded-for': address }
  const { status } = await fetch(`${server.issuer}/authorize`, {
    method: 'POST',
    redirect: 'manual',
    headers,
    body: largest(server),
  })
  return status
}
/** Until nothing more is let in. */
const fill = async (server: TestServer, refusal: number, addressOf = () => '192.0.2.66'): Promise<number> => {
  for (let begun = 0; ;) {
    const statuses = await Promise.all(Array.from({ length: 10 }, () => attack(server, addressOf())))
    const passed = statuses.filter((status) => status === 303).length
    expect(statuses.every((status) => status === 303 || status === refusal)).toBe(true)
    begun += passed
    if (passed === 0) return begun
  }
}
const token = (
  server: TestServer,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
) => fetch(`${server.issuer}/token`, { method: 'POST', headers, body: new URLSearchParams(form) })
const metric = async (server: TestServer, series: string): Promise<number> => {
  const text = await (await fetch(`${server.admin}/metrics`)).text()
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1],
  )
}
const startDevice = async (server: TestServer) => {
  const body = new URLSearchParams({ client_id: tvClient.client_id, scope: 'openid' })
  const response = await fetch(`${server.issuer}/device_authorization`, { method: 'POST', body })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

describe('a share that is full', () => {
  let server: TestServer
  const most = 10_000_000
  beforeAll(async () => {
    server = await start(16, { authorize: { address_per_minute: most, address_open: 1_000_000 } })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  it('AN01 of sign-ins that nobody finishes stops new ones, and nothing else', async () => {
    const signedIn = new UserAgent()
    const first = await signedIn.authorize(authorizeUrl(server), person)
    const device = await startDevice(server)
    expect(device.status).toBe(200)

    // Of many addresses: one alone has a tenth.
    let sent = 0
    const next = () => `198.18.0.${String(sent++ % 50)}`
    expect(await fill(server, 503, next)).toBeGreaterThan(50)
    // What is left is too little for the largest, and may do for some small ones.
    const ask = () => fetch(authorizeUrl(server), { redirect: 'manual' })
    let refused = await ask()
    for (let asked = 0; refused.status === 303 && asked < 100; asked += 1) refused = await ask()
    expect(refused.status).toBe(503)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)

    const again = await signedIn.authorize(authorizeUrl(server), person)
    for (const answer of [first, again]) {
      const code = answer.searchParams.get('code') ?? ''
      const form = { grant_type: 'authorization_code', client_id: publicClient.client_id, code }
      const got = await token(server, { ...form, redirect_uri: redirectUri, code_verifier: verifier })
      expect(got.status, await got.text()).toBe(200)
    }
    const machine = { grant_type: 'client_credentials', scope: 'read' }
    const prover = createProver('ES256', clock)
    const headers = { authorization: basic(serviceClient) }
    const asked = await token(server, machine, { ...headers, dpop: prover.proof(`${server.issuer}/token`, undefined) })
    const nonce = asked.headers.get('dpop-nonce') ?? undefined
    const proof = prover.proof(`${server.issuer}/token`, nonce)
    expect((await token(server, machine, { ...headers, dpop: proof })).status).toBe(200)
    expect((await token(server, machine, { ...headers, dpop: proof })).status).toBe(400)
    const assertion = signAssertion(key, { alg: key.alg, kid: key.kid }, assertionClaims('signer', server.issuer, now))
    const asserted = { ...machine, client_assertion_type: assertionType, client_assertion: assertion }
    expect((await token(server, asserted)).status).toBe(200)
    expect((await token(server, asserted)).status).toBe(401)
    const polled = await token(server, {
      grant_type: deviceGrant,
      client_id: tvClient.client_id,
      device_code: device.body['device_code'] ?? '',
    })
    expect(await polled.json()).toMatchObject({ error: 'authorization_pending' })
    expect((await startDevice(server)).status).toBe(200)

    const ready = await fetch(`${server.admin}/health/ready`)
    expect(ready.status, await ready.text()).toBe(200)
    const limit = await metric(server, 'signet_store_share_limit_bytes{share="requests"}')
    expect(limit).toBeCloseTo(0.15 * 16 * 1024 * 1024, 0)
    const bytes = await metric(server, 'signet_store_share_bytes{share="requests"}')
    expect(bytes / limit).toBeGreaterThan(0.98)
    expect(bytes / limit).toBeLessThanOrEqual(1)
  })

  it('AN01 has room again when what fills it has expired, and people sign in', async () => {
    // The ten minutes of a sign-in, the ten seconds until it is collected, and a slice.
    now += (600 + 10 + 64) * 1000
    const answer = await new UserAgent().authorize(authorizeUrl(server), person)
    expect(answer.searchParams.has('code')).toBe(true)
  })
})

describe('the limits by default', () => {
  it('AN01 one address cannot fill the share of a store of 24 MB, minute after minute', async () => {
    await using server = await start(24, {})
    let begun = 0
    for (let minute = 0; minute < 3; minute += 1) {
      begun += await fill(server, 429)
      now += 60_000
    }
    expect(begun).toBeGreaterThan(10)
    const bytes = await metric(server, 'signet_store_share_bytes{share="requests"}')
    expect(bytes).toBeGreaterThan(begun * 7000)
    const limit = await metric(server, 'signet_store_share_limit_bytes{share="requests"}')
    expect(bytes).toBeLessThanOrEqual(limit / 10)
    const answer = await new UserAgent({ 'x-forwarded-for': '192.0.2.1' }).authorize(authorizeUrl(server), person)
    expect(answer.searchParams.has('code')).toBe(true)
  })
})
