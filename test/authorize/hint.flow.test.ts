import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import {
  person,
  publicClient,
  redirectUri,
  startServer,
  subject,
  webClient,
  type TestServer,
} from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'

let server: TestServer
let now = Date.now()
beforeAll(async () => {
  const claims = { name: 'Alice Adams', updated_at: 1_767_225_600 }
  const configure = (written: Record<string, unknown>) => ({
    ...written,
    accounts: [{ ...person, sub: subject, claims }],
  })
  server = await startServer({ clock: () => now, configure })
})
afterAll(() => server[Symbol.asyncDispose]())

const tokensFor = async (
  agent: UserAgent,
  client: { client_id: string; client_secret?: string },
  sent: Record<string, string> = {},
) => {
  const answer = await agent.authorize(authorizeUrl(server.issuer, { client_id: client.client_id, ...sent }), person)
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code: answer.searchParams.get('code') ?? '',
    redirect_uri: redirectUri,
    code_verifier: verifier,
    client_id: client.client_id,
  })
  const basic = Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64')
  const headers = client.client_secret === undefined ? {} : { authorization: `Basic ${basic}` }
  const response = await fetch(`${server.issuer}/token`, { method: 'POST', body, headers: new Headers(headers) })
  return (await response.json()) as { id_token: string; access_token: string }
}

describe('id_token_hint over the running server', () => {
  it('AZ17 accepts an id_token that was issued to this client, expired or not, and nothing else', async () => {
    const agent = new UserAgent()
    const mine = await tokensFor(agent, webClient)
    const others = await tokensFor(agent, publicClient)
    const ask = async (hint: string) => {
      const { left } = await agent.follow(authorizeUrl(server.issuer, { id_token_hint: hint, prompt: 'none' }))
      return left?.searchParams.get('error') ?? (left?.searchParams.has('code') ? 'code' : undefined)
    }
    const [header = '', payload = '', signature = ''] = mine.id_token.split('.')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    const bob = Buffer.from(
      JSON.stringify({ ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), sub: 'bob' }),
    ).toString('base64url')

    expect(await ask(mine.id_token)).toBe('code')
    for (const hint of [
      others.id_token,
      mine.access_token,
      `${none}.${payload}.`,
      `${header}.${bob}.${signature}`,
      `${mine.id_token}=`,
      `${mine.id_token}.`,
    ])
      expect(await ask(hint)).toBe('invalid_request')
    now += 2 * 3600 * 1000
    expect(await ask(mine.id_token)).toBe('code')
  })
})

describe('what an application learns about a sign-in', () => {
  it('AZ16 max_age=1 asks again a moment later, and auth_time of the new sign-in is in the ID token', async () => {
    const agent = new UserAgent()
    const authTime = ({ id_token }: { id_token: string }) =>
      (JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString()) as { auth_time: unknown })
        .auth_time
    const first = authTime(await tokensFor(agent, webClient, { max_age: '1' }))
    expect(first).toBe(Math.floor(now / 1000))
    now += 2000
    const silent = authorizeUrl(server.issuer, { max_age: '1', prompt: 'none' })
    expect((await agent.follow(silent)).left?.searchParams.get('error')).toBe('login_required')
    const asked = await agent.follow(authorizeUrl(server.issuer, { max_age: '1' }))
    expect(await asked.response.text()).toContain('id="login-submit"')
    expect(authTime(await tokensFor(agent, webClient))).toBe(first)
    expect(authTime(await tokensFor(agent, webClient, { max_age: '1' }))).toBe(Math.floor(now / 1000))
  })

  it('has updated_at as a number (OIDC Core §5.1)', async () => {
    const { access_token } = await tokensFor(new UserAgent(), webClient, { scope: 'openid profile' })
    const headers = { authorization: `Bearer ${access_token}` }
    const userinfo = await (await fetch(`${server.issuer}/userinfo`, { headers })).json()
    expect(userinfo).toEqual({ sub: subject, name: 'Alice Adams', updated_at: 1_767_225_600 })
  })
})
