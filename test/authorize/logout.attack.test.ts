import { createHash } from 'node:crypto'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { discover } from '../support/clients/authorization.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { forgedHints, spellingsOf, spellingsOfWeb } from '../support/forge/logout.js'
import { person, redirectUri, startServer, subject, webClient, type TestServer } from '../support/server/server.js'

const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const challenge = createHash('sha256').update(verifier).digest('base64url')
const after = 'https://client.example/signed-out?from=signet'
const shop = {
  ...webClient,
  client_uri: 'https://client.example/home',
  consent: 'implicit',
  post_logout_redirect_uris: [after],
}
const other = {
  ...{ ...shop, client_id: 'other', post_logout_redirect_uris: ['https://other.example/out'] },
  initiate_login_uri: 'https://other.example/login?from=signet',
}

const bob = { username: 'bob', password: 'another correct horse' }

type Tokens = Record<'access_token' | 'id_token' | 'refresh_token', string>

describe('/logout (RP-Initiated Logout)', () => {
  let server: TestServer
  const time = { ahead: 0 }
  beforeAll(async () => {
    server = await startServer({
      clock: () => Date.now() + time.ahead,
      configure: (written) => ({
        ...written,
        clients: [shop, other, { ...shop, client_id: 'gone', disabled: true }],
        accounts: [
          { ...person, sub: subject },
          { ...bob, sub: 'sub-bob' },
        ],
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const authorizeUrl = (scope = 'openid', more: Record<string, string> = {}) =>
    `${server.issuer}/authorize?${new URLSearchParams({
      ...{ client_id: 'web', redirect_uri: redirectUri, response_type: 'code', scope },
      ...{ code_challenge: challenge, code_challenge_method: 'S256', ...more },
    })}`
  const post = async (path: string, form: Record<string, string>) => {
    const headers = { authorization: basic(shop) }
    const response = await fetch(server.issuer + path, { method: 'POST', headers, body: new URLSearchParams(form) })
    return (await response.json()) as Record<string, unknown>
  }
  const signIn = async (agent = new UserAgent(), scope = 'openid', as = person) => {
    const left = await agent.authorize(authorizeUrl(scope, as === bob ? { prompt: 'login' } : {}), as)
    const tokens = (await post('/token', {
      ...{ grant_type: 'authorization_code', code: left.searchParams.get('code') ?? '', redirect_uri: redirectUri },
      code_verifier: verifier,
    })) as Tokens
    return { agent, tokens }
  }
  const out = async (agent: UserAgent, parameters: Record<string, string> | string[][], init?: RequestInit) => {
    const query = init?.method === 'POST' ? '' : `?${new URLSearchParams(parameters)}`
    const body = init?.method === 'POST' ? { body: new URLSearchParams(parameters) } : {}
    const { response, left } = await agent.follow(`${server.issuer}/logout${query}`, { ...init, ...body })
    return {
      status: response.status,
      left: left?.href ?? response.headers.get('location'),
      html: await response.text(),
    }
  }
  /** `prompt=none`: `code`, or the error. */
  const state = async (agent: UserAgent) => {
    const { left } = await agent.follow(authorizeUrl('openid', { prompt: 'none' }))
    return left?.searchParams.get('error') ?? 'code'
  }
  const forge = (token: string, change: object) => {
    const [header, payload = '', signature] = token.split('.')
    const claims = { ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), ...change }
    return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
  }
  const signedOut = { status: 200, html: expect.stringContaining('id="signed-out"') as string }
  const asked = { status: 200, html: expect.stringContaining('id="logout-confirm"') as string }
  const refused = { status: 400, html: expect.stringContaining('Sign-out error') as string, left: null }

  it('ends the session of the hint without a question, and returns to the client with state', async () => {
    const { agent, tokens } = await signIn()
    const answer = await out(agent, { id_token_hint: tokens.id_token, post_logout_redirect_uri: after, state: 'a b&c' })
    expect(answer).toMatchObject({ status: 303, left: `${after}&state=a%20b%26c` })
    expect(await state(agent)).toBe('login_required')
    expect(await post('/introspect', { token: tokens.access_token })).toEqual({ active: false })
    const lines = await server.audit()
    expect(lines.findLast(({ event }) => event === 'session.ended')).toMatchObject({
      sub: subject,
      client_id: 'web',
      grants: 1,
    })
  })

  it('keeps offline grants and the sessions of other browsers', async () => {
    const elsewhere = await signIn()
    const { agent, tokens } = await signIn(new UserAgent(), 'openid offline_access')
    expect(await out(agent, { id_token_hint: tokens.id_token })).toMatchObject(signedOut)
    expect(await state(agent)).toBe('login_required')
    const refreshed = await post('/token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token })
    expect(refreshed).toHaveProperty('access_token')
    expect(await state(elsewhere.agent)).toBe('code')
    expect(await post('/introspect', { token: elsewhere.tokens.access_token })).toMatchObject({ active: true })
  })

  it('ends the session of the hint, and another current person stays signed in', async () => {
    const { agent, tokens } = await signIn()
    const second = await signIn(agent, 'openid', bob)
    expect(await out(agent, { id_token_hint: tokens.id_token, post_logout_redirect_uri: after })).toMatchObject({
      left: after,
    })
    expect(await post('/introspect', { token: tokens.access_token })).toEqual({ active: false })
    expect(await post('/introspect', { token: second.tokens.access_token })).toMatchObject({
      active: true,
      sub: 'sub-bob',
    })
    expect([agent.cookies.has('signet-other-sessions'), await state(agent)]).toEqual([false, 'code'])
    // What was told once is not asked again, and takes nobody else with it.
    expect(await out(agent, { id_token_hint: tokens.id_token })).toMatchObject(asked)
    expect(await out(agent, { id_token_hint: second.tokens.id_token })).toMatchObject(signedOut)
  })

  it('accepts an expired hint, and one by POST', async () => {
    const { agent, tokens } = await signIn()
    time.ahead += 2 * 3_600_000
    const hint = { id_token_hint: tokens.id_token, client_id: 'web', post_logout_redirect_uri: after }
    expect(await out(agent, hint, { method: 'POST' })).toMatchObject({ left: after })
    expect(await state(agent)).toBe('login_required')
  })

  it('is called by openid-client as discovered', async () => {
    const { agent, tokens } = await signIn()
    const client = await discover(server.issuer, 'web', oidc.ClientSecretBasic(webClient.client_secret))
    const url = oidc.buildEndSessionUrl(client, { post_logout_redirect_uri: after, id_token_hint: tokens.id_token })
    expect(url.href).toContain(`${server.issuer}/logout?`)
    expect((await agent.follow(url)).left?.href).toBe(after)
  })

  it('LO01 asks for confirmation without a hint of this session, and acts on the answer', async () => {
    const stranger = await signIn()
    const { agent } = await signIn()
    for (const parameters of [{}, { client_id: 'web' }, { id_token_hint: stranger.tokens.id_token }]) {
      expect(await out(agent, parameters)).toMatchObject(asked)
      expect(await state(agent)).toBe('code')
    }
    const { html } = await out(agent, { client_id: 'web', post_logout_redirect_uri: after, state: 's' })
    const hidden = [...html.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')] as const,
    )
    const { left } = await agent.submit(new URL(`${server.issuer}/logout`), html, Object.fromEntries(hidden))
    expect(left?.href).toBe(`${after}&state=s`)
    expect(await state(agent)).toBe('login_required')
    expect(await state(stranger.agent)).toBe('code')
  })

  it('LO02 refuses foreign forms', async () => {
    const [first, second] = [await signIn(), await signIn()]
    const { html } = await out(first.agent, {})
    const csrf = /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? ''
    for (const forged of ['x', csrf]) {
      const answer = await out(second.agent, { csrf: forged }, { method: 'POST' })
      expect(answer.status).toBe(403)
    }
    expect(await out(second.agent, {}, { method: 'POST' })).toMatchObject(asked)
    expect(await state(second.agent)).toBe('code')
  })

  it('LO03 refuses a hint that is forged, unsigned, of another kind, or too long', async () => {
    const { agent, tokens } = await signIn()
    const [header = '', payload = ''] = tokens.id_token.split('.')
    for (const id_token_hint of [
      ...['x', 'a.b.c', `${header}.${payload}.`, `eyJhbGciOiJub25lIn0.${payload}.`, 'a'.repeat(9000)],
      ...[forge(tokens.id_token, { aud: 'other' }), forge(tokens.id_token, { sid: 'x' }), tokens.access_token],
      ...(await forgedHints(tokens.id_token)),
      ...[forge(tokens.id_token, { exp: 1 }), forge(tokens.id_token, { iss: 'https://evil.example' })],
    ])
      expect(
        await out(agent, { id_token_hint, post_logout_redirect_uri: after }),
        id_token_hint.slice(0, 40),
      ).toMatchObject(refused)
    expect(await state(agent)).toBe('code')
  })

  it('LO04 redirects only to a URI that the client has registered, character for character', async () => {
    const { agent, tokens } = await signIn()
    for (const uri of [
      ...[redirectUri, 'https://evil.example/', 'https://other.example/out', 'javascript:alert(1)', '//evil.example'],
      ...[`${after}/`, `${after}&x=1`, after.replace('https', 'http'), after.toUpperCase(), `${after}#x`],
      ...spellingsOf(after),
    ])
      expect(await out(agent, { id_token_hint: tokens.id_token, post_logout_redirect_uri: uri }), uri).toMatchObject(
        refused,
      )
    expect(await state(agent)).toBe('code')
  })

  it('leads back from an error to the client of a valid hint, and otherwise not', async () => {
    const { agent, tokens } = await signIn()
    const back = async (more: Record<string, string>) =>
      /id="back-to-client" href="([^"]+)"/.exec(
        (await out(agent, { ...more, post_logout_redirect_uri: 'x' })).html,
      )?.[1]
    const { id_token } = tokens
    expect(await back({ id_token_hint: id_token })).toBe(shop.client_uri)
    for (const more of [{ client_id: 'web' }, { id_token_hint: forge(id_token, { sid: 'x' }), client_id: 'web' }])
      expect(await back(more)).toBeUndefined()
  })

  it('LO05 redirects nowhere without a client', async () => {
    const { agent } = await signIn()
    const { html } = await out(agent, { post_logout_redirect_uri: after })
    const done = await agent.submit(new URL(`${server.issuer}/logout`), html, { post_logout_redirect_uri: after })
    expect([done.left, done.response.status]).toEqual([undefined, 200])
    for (const nobody of [{}, { client_id: '' }, { id_token_hint: '' }, { Client_Id: 'web' }, { CLIENT_ID: 'web' }])
      expect(await out(new UserAgent(), { ...nobody, post_logout_redirect_uri: after })).toMatchObject(signedOut)
  })

  it('LO06 refuses a client that is unknown, disabled, or different from that of the hint', async () => {
    const { agent, tokens } = await signIn()
    for (const more of [
      { client_id: 'nobody' },
      { client_id: 'gone' },
      { id_token_hint: tokens.id_token, client_id: 'other' },
      { id_token_hint: tokens.id_token, client_id: 'other', post_logout_redirect_uri: 'https://other.example/out' },
      { id_token_hint: tokens.id_token, client_id: 'other', post_logout_redirect_uri: after },
      { id_token_hint: tokens.id_token, client_id: 'gone', post_logout_redirect_uri: after },
      ...spellingsOfWeb.flatMap((client_id) => [
        { client_id },
        { client_id, id_token_hint: tokens.id_token, post_logout_redirect_uri: after },
      ]),
    ])
      expect(await out(agent, more), JSON.stringify(more)).toMatchObject(refused)
    expect(await state(agent)).toBe('code')
  })

  it('LO07 refuses repeated parameters, and a state of 3 KiB', async () => {
    const { agent, tokens } = await signIn()
    const hint = ['id_token_hint', tokens.id_token]
    for (const more of [
      [hint, hint],
      [hint, ['state', 'x'.repeat(3000)]],
      [
        ['client_id', 'web'],
        ['client_id', 'other'],
      ],
      ...[hint, ['client_id', 'web'], ['post_logout_redirect_uri', after], ['state', 's']].flatMap((twice) => [
        [hint, ['client_id', 'web'], ['post_logout_redirect_uri', after], ['state', 's'], twice],
        [twice, twice],
      ]),
    ])
      for (const method of ['GET', 'POST']) expect(await out(agent, more, { method })).toMatchObject(refused)
    expect(await state(agent)).toBe('code')
  })

  it('leads back to the initiate_login_uri of the client (OIDC Core §4), or nowhere without one', async () => {
    const back = async (query: Record<string, string>) =>
      /id="back-to-client" href="([^"]+)"/.exec((await out(new UserAgent(), query)).html)?.[1]
    expect(await back({ client_id: 'other' })).toBe(
      `https://other.example/login?from=signet&amp;iss=${encodeURIComponent(server.issuer)}`,
    )
    expect([await back({ client_id: 'web' }), await back({})]).toEqual([undefined, undefined])
  })

  it('reports success when there is no session', async () => {
    expect(await out(new UserAgent(), {})).toMatchObject(signedOut)
    expect(await out(new UserAgent(), { client_id: 'web', post_logout_redirect_uri: after })).toMatchObject({
      left: after,
    })
  })
})
