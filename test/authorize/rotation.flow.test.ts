import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import { iso, key, startReloadServer, type Json, type ReloadServer } from '../support/server/reloading.js'
import { person, redirectUri, webClient } from '../support/server/server.js'
import { basic } from '../support/clients/clients.js'
import { UserAgent } from '../support/clients/user-agent.js'

const hour = 3_600_000
const after = 'https://client.example/out'
type Tokens = Record<'access_token' | 'id_token' | 'refresh_token', string>

describe('a rotated signing key of the issuer', () => {
  let server: ReloadServer
  let now = Date.parse('2026-11-20T00:00:00Z')
  beforeAll(async () => {
    server = await startReloadServer({
      clock: () => now,
      configure: (written) => ({
        ...written,
        refresh_token_idle_ttl_secs: 30 * 86_400,
        clients: [{ ...webClient, consent: 'implicit', post_logout_redirect_uris: [after] }],
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const post = async (form: Record<string, string>) => {
    const body = new URLSearchParams(form)
    const response = await fetch(`${server.issuer}/token`, {
      method: 'POST',
      body,
      headers: { authorization: basic(webClient) },
    })
    return (await response.json()) as Tokens
  }
  const signIn = async () => {
    const agent = new UserAgent()
    const left = await agent.authorize(authorizeUrl(server.issuer, { scope: 'openid offline_access' }), person)
    const code = left.searchParams.get('code') ?? ''
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
    return { agent, tokens: await post(form) }
  }
  const rotateTo = async (kid: string, ...old: readonly Json[]) => {
    await server.edit((written) => ({ ...written, keys: [key(kid, { allow_early: true }), ...old] }))
    return await server.reload({ force: 'true' })
  }
  const kidIn = (token: string) =>
    (JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid
  const silently = async (agent: UserAgent, id_token_hint: string) => {
    const { left } = await agent.follow(authorizeUrl(server.issuer, { prompt: 'none', id_token_hint }))
    return left?.searchParams.get('error') ?? (left?.searchParams.has('code') ? 'code' : 'a page')
  }
  const signOut = async (agent: UserAgent, id_token_hint: string) => {
    const query = new URLSearchParams({ id_token_hint, post_logout_redirect_uri: after })
    const { response, left } = await agent.follow(`${server.issuer}/logout?${query}`)
    return left?.href ?? response.status
  }

  it('breaks no session: userinfo, refresh, silent sign-in and sign-out work, even when the key is no longer published', async () => {
    const first = await signIn()
    const second = await signIn()
    expect(kidIn(first.tokens.id_token)).toBe('es256')
    expect((await rotateTo('new', key('es256', { not_after: iso(now) }))).status).toBe(200)

    const headers = { authorization: `Bearer ${first.tokens.access_token}` }
    expect((await fetch(`${server.issuer}/userinfo`, { headers })).status).toBe(200)
    const refreshed = await post({ grant_type: 'refresh_token', refresh_token: first.tokens.refresh_token })
    expect(kidIn(refreshed.id_token)).toBe('new')
    expect(await silently(first.agent, first.tokens.id_token)).toBe('code')
    expect(await signOut(first.agent, first.tokens.id_token)).toBe(after)
    expect(await silently(first.agent, first.tokens.id_token)).toBe('login_required')

    now += 5 * 24 * hour
    expect(await server.kids()).toEqual(['new'])
    expect(await silently(second.agent, second.tokens.id_token)).toBe('code')
    // Out of the file as well.
    expect((await rotateTo('new')).status).toBe(200)
    expect(await silently(second.agent, second.tokens.id_token)).toBe('code')
    expect(await signOut(second.agent, second.tokens.id_token)).toBe(after)
    expect(await silently(second.agent, second.tokens.id_token)).toBe('login_required')
    now += 10 * 24 * hour
    expect(await silently(second.agent, second.tokens.id_token)).toBe('invalid_request')
  })

  const soon = () => iso(now + hour / 2)
  it.each<[string, () => Json, () => readonly Json[]]>([
    ['removed', () => ({}), () => []],
    ['removed before the end that it had', () => ({ not_after: soon() }), () => []],
    ['retired without the purpose', () => ({}), () => [{ purposes: ['userinfo'], not_after: soon() }]],
  ])('LO03 a key that was %s is no longer trusted for hints', async (how, written, left) => {
    const kid = how.replaceAll(' ', '-')
    await server.edit((all) => ({ ...all, keys: [key(kid, { allow_early: true, ...written() })] }))
    expect((await server.reload({ force: 'true' })).status).toBe(200)
    const { agent, tokens } = await signIn()
    expect(kidIn(tokens.id_token)).toBe(kid)
    expect((await rotateTo('safe', ...left().map((more) => key(kid, more)))).status).toBe(200)
    now += 2 * hour
    expect(await silently(agent, tokens.id_token)).toBe('invalid_request')
    expect(await signOut(agent, tokens.id_token)).toBe(400)
  })
})
