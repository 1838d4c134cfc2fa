import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { csrfToken } from '../../core/interaction/csrf.js'
import { noLog } from '../../core/observe/log.js'
import { basic } from '../support/clients/clients.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import { person, redirectUri, startServer, subject, webClient, type TestServer } from '../support/server/server.js'
import { failingStore, inBothRoles, type Faults } from '../support/stores/failing-store.js'

// A page of the organisation asks for consent. This file plays its service; everything else is real.

const adminToken = 'a-token-of-the-admin-listener'
const consentUrl = 'https://consent.bank.example/ask'
const signInUrl = 'https://sign-in.bank.example/start'
const bob = { username: 'bob', password: 'another horse battery staple' }
const home = 'https://client.example/'

const faults: Faults = new Map()
let server: TestServer
/** Milliseconds that the clock is ahead. */
let ahead = 0

beforeAll(async () => {
  server = await startServer({
    log: noLog,
    clock: () => Date.now() + ahead,
    doubles: { stores: inBothRoles(failingStore(faults)) },
    configure: (written) => ({
      ...written,
      admin: { host: '127.0.0.1', port: 0, token: adminToken },
      plugins: [
        ...(written['plugins'] as object[]),
        { use: 'plugins/login/handoff', options: { id: 'own', sign_in_url: signInUrl, consent_url: consentUrl } },
      ],
      authorization_details_types: [
        {
          type: 'payment',
          title: { en: 'Payment' },
          schema: {
            type: 'object',
            additionalProperties: false,
            required: ['amount'],
            properties: { amount: { type: 'string', title: 'Amount' } },
          },
        },
      ],
      clients: [
        { ...webClient, client_name: 'Phone book', client_uri: home, authorization_details_types: ['payment'] },
        { ...webClient, client_id: 'trusted', consent: 'implicit' },
      ],
      accounts: [...(written['accounts'] as object[]), { ...bob, sub: 'bob-7', claims: { name: 'Bob' } }],
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())
afterEach(() => {
  faults.clear()
  ahead = 0
})

const scope = 'openid profile email'

/** Signs in, where that is asked, and goes to where the browser is sent. */
const go = (agent: UserAgent, more: Record<string, string> = {}) =>
  agent.authorize(authorizeUrl(server.issuer, { scope, ...more }), person)

const askedOf = async (at: URL) => {
  expect(at.href.startsWith(`${consentUrl}?`)).toBe(true)
  const rules = { issuer: server.issuer, audience: consentUrl, typ: 'handoff+jwt' }
  const keys = createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))
  return (await jwtVerify(at.searchParams.get('request') ?? '', keys, rules)).payload
}

/** A new browser at the page of the organisation: `page` is where it left from. */
const begin = async (more: Record<string, string> = {}) => {
  const agent = new UserAgent()
  await go(agent, { client_id: 'trusted', scope: 'openid' })
  const { url: page, left } = await agent.follow(authorizeUrl(server.issuer, { scope, prompt: 'consent', ...more }))
  const { interaction } = decodeJwt(left?.searchParams.get('request') ?? '')
  return { agent, page, id: String(interaction) }
}

const post = async (id: string, verb: string, body: unknown) => {
  const response = await fetch(new URL(`/interactions/${id}/${verb}`, server.admin), {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, ...((await response.json()) as { redirect_to?: string }) }
}

const allow = async (id: string, body: unknown = { scope }): Promise<string> => {
  const { status, redirect_to: to = '' } = await post(id, 'consent', body)
  expect(status).toBe(200)
  return to
}

const redeem = async (back: URL | undefined) => {
  const code = back?.searchParams.get('code') ?? ''
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
  const headers = { authorization: basic(webClient) }
  const answer = await fetch(`${server.issuer}/token`, { method: 'POST', headers, body: new URLSearchParams(form) })
  return (await answer.json()) as Record<string, unknown>
}

const linesOf = async (event: string) => (await server.audit()).filter((line) => line['event'] === event)

describe('consent at a page of the organisation', () => {
  it('is asked with a signed request; what is granted is what the service says', async () => {
    const agent = new UserAgent()
    const at = await go(agent, { ui_locales: 'de' })
    const asked = await askedOf(at)
    expect(asked).toMatchObject({ sub: subject, client_id: 'web', client_name: 'Phone book', scope, ui_locales: 'de' })
    expect(asked.exp).toBe((asked.iat ?? 0) + 300)
    expect(asked).not.toHaveProperty('granted_scope')
    const { left } = await agent.follow(await allow(String(asked['interaction']), { scope: 'profile openid' }))
    const tokens = await redeem(left)
    expect(tokens).toMatchObject({ scope: 'openid profile' })
    const trail = { client_id: 'web', sub: subject }
    expect(await linesOf('consent.given')).toContainEqual(
      expect.objectContaining({ ...trail, scope: 'openid profile' }),
    )
    expect(await linesOf('handoff.answered')).toContainEqual(
      expect.objectContaining({ ...trail, method: 'own', asked: 'consent', outcome: 'allowed' }),
    )
    // What was allowed is remembered, and nothing else is.
    const silently = await go(agent, { scope: 'openid profile', prompt: 'none' })
    expect(silently.searchParams.has('code')).toBe(true)
    expect((await go(agent, { prompt: 'none' })).searchParams.get('error')).toBe('consent_required')
    const again = await askedOf(await go(agent))
    expect(again).toMatchObject({ scope, granted_scope: 'openid profile' })
    // Those of a client that needs no consent never leave.
    expect((await go(agent, { client_id: 'trusted' })).searchParams.has('code')).toBe(true)
    expect(await askedOf(await go(agent, { scope: 'openid', prompt: 'consent' }))).toMatchObject({ prompt: 'consent' })
  })

  it('grants of claims and authorization_details what the service names, and no more', async () => {
    const details = ['10 EUR', '20 EUR'].map((amount) => ({ type: 'payment', amount }))
    const { agent, id } = await begin({
      claims: JSON.stringify({ userinfo: { email: null, name: { essential: true } } }),
      authorization_details: JSON.stringify(details),
    })
    const [first] = details
    for (const wrong of [[{ ...first, amount: '30 EUR' }], [first, first], [{ type: 'other' }]])
      expect((await post(id, 'consent', { scope, authorization_details: wrong })).status).toBe(400)
    expect((await post(id, 'consent', { scope, claims: ['phone_number'] })).status).toBe(400)
    const to = await allow(id, { scope: 'openid', claims: ['email'], authorization_details: [first] })
    const { access_token: token, authorization_details: granted } = await redeem((await agent.follow(to)).left)
    expect(granted).toEqual([first])
    const info = await fetch(`${server.issuer}/userinfo`, { headers: { authorization: `Bearer ${String(token)}` } })
    expect(await info.json()).toEqual({ sub: subject, email: 'alice@bank.example' })
  })

  it('is refused by the service: the client hears access_denied', async () => {
    const { agent, id } = await begin()
    const { redirect_to: to = '' } = await post(id, 'refuse', { reason: 'cancelled' })
    const { left } = await agent.follow(to)
    expect(left?.searchParams.get('error')).toBe('access_denied')
    expect(await linesOf('consent.denied')).toContainEqual(expect.objectContaining({ client_id: 'web', sub: subject }))
    expect(await linesOf('handoff.answered')).toContainEqual(
      expect.objectContaining({ asked: 'consent', outcome: 'refused', reason: 'cancelled' }),
    )
  })
})

describe('an answer', () => {
  it('[SI31] is of no use in another browser, to another person, for another interaction', async () => {
    const { agent, id } = await begin()
    const to = await allow(id)
    const stranger = new UserAgent()
    expect((await stranger.follow(to)).response.status).toBe(400)
    const other = await begin()
    expect((await other.agent.follow(to)).response.status).toBe(400)
    // Another interaction of the same browser.
    const second = await go(agent, { scope: 'openid', prompt: 'consent' })
    const elsewhere = new URL(
      await allow(String(decodeJwt(second.searchParams.get('request') ?? '')['interaction']), { scope: 'openid' }),
    )
    elsewhere.searchParams.set('state', id)
    const { left } = await agent.follow(elsewhere)
    expect(left?.href.startsWith(consentUrl)).toBe(true)
    // Somebody else signs in meanwhile, and is asked.
    const signedIn = await agent.authorize(authorizeUrl(server.issuer, { client_id: 'trusted', prompt: 'login' }), bob)
    expect(signedIn.searchParams.has('code')).toBe(true)
    const asked = await askedOf((await agent.follow(to)).left!)
    expect(asked.sub).toBe('bob-7')
  })

  it('[SI32] that grants more than was requested, nothing, or junk is refused, and one answer counts', async () => {
    const { agent, id } = await begin()
    for (const junk of [
      ...['', '[]', 'null', '{"scope":"openid","scope":"openid profile"}'],
      ...[{}, { scope: ['openid'] }, { scope, admin: true }, { scope, claims: 'email' }],
      ...[{ scope: `${scope} read` }, { scope: 'profile email' }, { scope: '' }, { scope, claims: ['name'] }],
      { scope, authorization_details: [{ type: 'payment', amount: '1 EUR' }] },
    ])
      expect((await post(id, 'consent', junk)).status, JSON.stringify(junk)).toBe(400)
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, index) => post(id, 'consent', { scope: index % 2 ? scope : 'openid' })),
    )
    const won = all.filter(({ status }) => status === 200)
    expect(won).toHaveLength(1)
    expect(all.filter(({ status }) => status === 409)).toHaveLength(9)
    expect((await post(id, 'refuse', {})).status).toBe(409)
    const tokens = await redeem((await agent.follow(won[0]!.redirect_to!)).left)
    expect(tokens['scope']).toBe(all.indexOf(won[0]!) % 2 ? scope : 'openid')
  })

  it('[SI33] to a consent is not accepted for a sign-in, and vice versa', async () => {
    const { agent, id } = await begin()
    expect((await post(id, 'sign-in', { subject, claims: {} })).status).toBe(404)
    const other = new UserAgent()
    const { response, url } = await other.follow(authorizeUrl(server.issuer))
    const { left } = await other.submit(url, await response.text(), { method: 'own', begin: '1' })
    const signIn = String(decodeJwt(left?.searchParams.get('request') ?? '')['interaction'])
    expect((await post(signIn, 'consent', { scope: 'openid' })).status).toBe(404)
    // Nor does the attempt of one pass at the address of the other.
    const callback = `${server.issuer}/sign-in/own/callback?state=${id}`
    expect((await agent.follow(callback)).response.status).toBe(400)
    expect((await agent.follow(await allow(id))).left?.searchParams.has('code')).toBe(true)
  })

  it('[SI34] cannot be given by the form of the page that is not shown', async () => {
    const { agent, page, id } = await begin()
    const to = await allow(id)
    const interaction = page.pathname.split('/').at(-2) ?? ''
    const sid = String((await linesOf('login.succeeded')).at(-1)?.['sid'])
    const csrf = csrfToken(agent.cookies.get('signet-browser')?.value ?? '', interaction, `consent\n${sid}\n${subject}`)
    for (const at of [to, page])
      for (const decision of ['allow', 'deny']) {
        const answer = await agent.fetch(at, { method: 'POST', body: new URLSearchParams({ csrf, decision }) })
        expect(answer.status).toBe(403)
      }
    expect((await agent.follow(to)).left?.searchParams.has('code')).toBe(true)
  })

  it('[SI35] counts once, however often the browser comes back', async () => {
    const { agent, id } = await begin({ state: 'once' })
    const to = await allow(id)
    const given = (await linesOf('consent.given')).length
    const all = await Promise.all(Array.from({ length: 10 }, () => agent.fetch(to)))
    const codes = all.filter((answer) => answer.headers.get('location')?.includes('code=') === true)
    expect(codes).toHaveLength(1)
    expect((await linesOf('consent.given')).length).toBe(given + 1)
    const late = await agent.fetch(to)
    expect(late.status).toBe(400)
    expect(await late.text()).toContain(`href="${home}"`)
  })

  it('[SI36] that has not come, is unknown or is over grants nothing and uses nothing up', async () => {
    const { agent, page, id } = await begin()
    const early = await agent.fetch(`${page.href}?state=${id}`, { headers: { 'accept-language': 'de' } })
    expect(early.status).toBe(400)
    const html = await early.text()
    expect(html).toContain(`href="${home}"`)
    expect(html).toContain('noch nicht angekommen')
    expect((await agent.follow(`${page.href}?state=${'x'.repeat(43)}`)).left?.href.startsWith(consentUrl)).toBe(true)
    expect((await agent.follow(await allow(id))).left?.searchParams.has('code')).toBe(true)
    const later = await begin()
    const to = await allow(later.id)
    const never = await begin()
    ahead = 11 * 60_000
    expect((await post(never.id, 'consent', { scope })).status).toBe(404)
    const over = await later.agent.follow(to)
    expect(over.response.status).toBe(400)
    expect(await over.response.text()).toContain(`href="${home}"`)
  })

  it.each(['handoffs.put', 'sign_in_attempts.put', 'consents.find'])(
    '[SI37] an outage of %s is one, and leads back; the same address works afterwards',
    async (verb) => {
      const { agent, page } = await begin()
      faults.set(verb, 'before')
      const down = await agent.fetch(page)
      expect(down.status).toBe(503)
      expect(Number(down.headers.get('retry-after'))).toBeGreaterThan(0)
      if (verb.startsWith('handoffs')) expect(await down.text()).toContain(`href="${home}"`)
      faults.clear()
      expect((await agent.follow(page)).left?.href.startsWith(consentUrl)).toBe(true)
    },
  )

  it.each(['sign_in_attempts.findUnused', 'handoffs.find', 'codes.put', 'interactions.redeem', 'grant_index.put'])(
    '[SI37] an outage of %s uses no answer up',
    async (verb) => {
      const { agent, id } = await begin()
      faults.set('handoffs.put', 'before')
      expect((await post(id, 'consent', { scope })).status).toBe(503)
      faults.clear()
      const to = await allow(id)
      faults.set(verb, 'before')
      expect((await agent.fetch(to)).status).toBe(503)
      faults.clear()
      expect((await agent.follow(to)).left?.searchParams.has('code')).toBe(true)
    },
  )
})
