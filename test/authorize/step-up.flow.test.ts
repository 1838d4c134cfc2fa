import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { person, redirectUri, startServer, subject, webClient, type TestServer } from '../support/server/server.js'

const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const challenge = createHash('sha256').update(verifier).digest('base64url')
const login = fileURLToPath(new URL('../support/server/two-method-login.ts', import.meta.url))

const weak = 'urn:example:password'
const strong = 'urn:example:two-methods'
const twice = { ...person, password: `${person.password}#123456` }

const web = { ...webClient, consent: 'implicit' }
const careful = { ...web, client_id: 'careful', default_acr_values: [strong] }

type Answer = Record<string, unknown>

const claimsOf = (token: unknown): Answer =>
  JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString()) as Answer

describe('step-up (RFC 9470)', () => {
  let server: TestServer
  let now = Date.now()
  const acceptable: { acr_values?: string[]; max_age_secs?: number } = { acr_values: [strong], max_age_secs: 300 }
  beforeAll(async () => {
    server = await startServer({
      clock: () => now,
      configure: (written) => ({
        ...written,
        plugins: [
          ...(written['plugins'] as { use: string }[]).filter(({ use }) => !use.includes('login')),
          { use: login },
        ],
        acr_values_supported: [
          { acr: weak, methods: ['pwd'] },
          { acr: strong, methods: ['pwd', 'otp'] },
        ],
        userinfo: acceptable,
        clients: [web, careful],
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const url = (more: Record<string, string> = {}, client = 'web') =>
    `${server.issuer}/authorize?${new URLSearchParams({
      ...{ client_id: client, redirect_uri: redirectUri, response_type: 'code', scope: 'openid offline_access' },
      ...{ code_challenge: challenge, code_challenge_method: 'S256', state: 'the state', ...more },
    })}`
  const token = async (form: Record<string, string>, client = web) => {
    const headers = { authorization: basic(client) }
    const response = await fetch(`${server.issuer}/token`, { method: 'POST', headers, body: new URLSearchParams(form) })
    return (await response.json()) as Answer
  }
  const redeem = (left: URL, client = web) =>
    token(
      {
        ...{ grant_type: 'authorization_code', code: left.searchParams.get('code') ?? '', redirect_uri: redirectUri },
        code_verifier: verifier,
      },
      client,
    )
  /** The acr of the tokens that somebody gets who signs in as often as it takes. */
  const acrFor = async (agent: UserAgent, more: Record<string, string>, who = twice, client = web) => {
    const tokens = await redeem(await agent.authorize(url(more, client.client_id), who), client)
    const acr = claimsOf(tokens['id_token'])['acr']
    expect(claimsOf(tokens['access_token'])['acr']).toBe(acr)
    return acr
  }
  const signedIn = async (who = person) => {
    const agent = new UserAgent()
    await agent.authorize(url(), who)
    return agent
  }
  /** Where somebody gets who is signed in: `code`, `login`, or an error. */
  const meet = async (agent: UserAgent, more: Record<string, string>, client = 'web') => {
    const { left, url: page } = await agent.follow(url(more, client))
    if (left === undefined) return page.pathname.split('/').at(-1)
    expect(left.searchParams.get('state')).toBe('the state')
    expect(left.searchParams.get('iss')).toBe(server.issuer)
    return left.searchParams.get('error') ?? 'code'
  }
  const userinfo = async (access: unknown) => {
    const headers = { authorization: `Bearer ${String(access)}` }
    const response = await fetch(`${server.issuer}/userinfo`, { headers })
    const body = (await response.json()) as Answer
    return { status: response.status, header: response.headers.get('www-authenticate'), body }
  }
  const essential = (...values: string[]) => JSON.stringify({ id_token: { acr: { essential: true, values } } })

  it('is in the discovery document, in order', async () => {
    const response = await fetch(`${server.issuer}/.well-known/openid-configuration`)
    expect(await response.json()).toMatchObject({ acr_values_supported: [weak, strong] })
  })

  it('reports the strongest acr of the sign-in, or the requested one', async () => {
    expect(await acrFor(new UserAgent(), {}, person)).toBe(weak)
    expect(await acrFor(new UserAgent(), {})).toBe(strong)
    const agent = await signedIn(twice)
    expect(await acrFor(agent, { acr_values: weak })).toBe(weak)
    expect(await acrFor(agent, { acr_values: `${strong} ${weak}` })).toBe(strong)
    expect(await acrFor(agent, { acr_values: `urn:unknown ${weak}` })).toBe(weak)
  })

  it('is kept in the id_token of a refresh', async () => {
    const first = await redeem(await new UserAgent().authorize(url({ acr_values: weak }), twice))
    const next = await token({ grant_type: 'refresh_token', refresh_token: String(first['refresh_token']) })
    expect(claimsOf(next['id_token'])).toMatchObject({ acr: weak, amr: ['pwd', 'otp'] })
  })

  it('requires a sign-in only if the session does not meet the request', async () => {
    const once = await signedIn(person)
    const both = await signedIn(twice)
    for (const more of [{ acr_values: strong }, { claims: essential(strong) }]) {
      expect(await meet(once, more)).toBe('login')
      expect(await meet(both, more)).toBe('code')
    }
    expect(await meet(once, { acr_values: `${strong} ${weak}` })).toBe('code')
    expect(await meet(once, {}, 'careful')).toBe('login')
    expect(await meet(once, { acr_values: weak }, 'careful')).toBe('code')
    expect(await acrFor(once, {}, twice, careful)).toBe(strong)
    expect(await acrFor(once, {}, twice)).toBe(strong)
  })

  it('ST01 refuses an essential acr that is not available, before the sign-in', async () => {
    for (const agent of [new UserAgent(), await signedIn()])
      for (const values of [['urn:unknown'], ['urn:unknown', `${strong} `], ['']])
        expect(await meet(agent, { claims: essential(...values) })).toBe('unmet_authentication_requirements')
    const one = JSON.stringify({ id_token: { acr: { essential: true, value: strong.toUpperCase() } } })
    expect(await meet(new UserAgent(), { claims: one })).toBe('unmet_authentication_requirements')
  })

  it('ST02 refuses an essential acr that the sign-in does not meet', async () => {
    for (const agent of [new UserAgent(), await signedIn()]) {
      const left = await agent.authorize(url({ claims: essential(strong) }), person)
      expect(left.searchParams.get('error')).toBe('unmet_authentication_requirements')
      expect(left.searchParams.has('code')).toBe(false)
    }
  })

  it('ST03 accepts any sign-in if the acr is not essential', async () => {
    const agent = await signedIn()
    expect(await acrFor(agent, { acr_values: strong }, person)).toBe(weak)
    expect(await acrFor(new UserAgent(), { acr_values: 'urn:unknown' }, person)).toBe(weak)
    const claims = JSON.stringify({ id_token: { acr: { values: [strong] } } })
    expect(await meet(agent, { claims })).toBe('login')
  })

  it('ST04 shows no page for prompt=none', async () => {
    const agent = await signedIn()
    expect(await meet(agent, { acr_values: strong, prompt: 'none' })).toBe('code')
    expect(await meet(agent, { claims: essential(strong), prompt: 'none' })).toBe('login_required')
  })

  it('ST05 refuses values that cannot be configured', async () => {
    const many = Array.from({ length: 21 }, (_, index) => `urn:${String(index)}`).join(' ')
    for (const acr_values of [many, 'a'.repeat(1025), 'urn:a\u0001', `${strong}\n`])
      expect(await meet(new UserAgent(), { acr_values })).toBe('invalid_request')
  })

  it('ST06 reports at /userinfo what is missing, and accepts a token for it', async () => {
    const agent = await signedIn()
    const low = await redeem(await agent.authorize(url(), person))
    const refused = await userinfo(low['access_token'])
    expect(refused).toMatchObject({ status: 401, body: { error: 'insufficient_user_authentication' } })
    expect(refused.header).toContain(
      `Bearer error="insufficient_user_authentication", error_description="A different authentication level is required.", acr_values="${strong}", max_age="300"`,
    )
    const [, acr_values = '', max_age = ''] = /acr_values="([^"]+)", max_age="(\d+)"/.exec(refused.header ?? '') ?? []
    const high = await redeem(await agent.authorize(url({ acr_values, max_age }), twice))
    expect(await userinfo(high['access_token'])).toMatchObject({ status: 200, body: { sub: subject } })

    now += 301_000
    const old = await userinfo(high['access_token'])
    expect(old.status).toBe(401)
    expect(old.header).toContain('error_description="A more recent authentication is required."')
    const lines = await server.audit()
    expect(lines.at(-1)).toMatchObject({ event: 'userinfo.refused', client_id: 'web' })
  })
})
