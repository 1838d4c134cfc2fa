import { createHash, randomBytes } from 'node:crypto'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { answerHandoff, signInUrl, withHandoff } from '../support/clients/handoff.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { redirectUri, startServer, webClient, type TestServer } from '../support/server/server.js'

// People sign in at a service of the organisation, or with a password.

let server: TestServer

beforeAll(async () => {
  server = await startServer({ log: noLog, configure: withHandoff() })
})
afterAll(() => server[Symbol.asyncDispose]())

const verifier = randomBytes(32).toString('base64url')
const code_challenge = createHash('sha256').update(verifier).digest('base64url')

const authorizeUrl = (more: Record<string, string> = {}): string => {
  const query = { client_id: 'web', redirect_uri: redirectUri, response_type: 'code', scope: 'openid profile email' }
  return `${server.issuer}/authorize?${new URLSearchParams({ ...query, code_challenge, code_challenge_method: 'S256', ...more })}`
}

/** Presses the button of a method on the sign-in page. Where the browser goes. */
const begin = async (agent: UserAgent, method: string, more: Record<string, string> = {}): Promise<URL> => {
  const { response, url } = await agent.follow(authorizeUrl(more))
  const { left } = await agent.submit(url, await response.text(), { method, begin: '1' })
  if (left === undefined) throw new Error('the browser stays')
  return left
}

const finish = (agent: UserAgent, url: URL | string) => agent.authorize(url, { username: '', password: '' })

const claimsOf = async (back: URL) => {
  const headers = { authorization: `Basic ${btoa(`${webClient.client_id}:${webClient.client_secret}`)}` }
  const code = back.searchParams.get('code') ?? ''
  const body = new URLSearchParams({
    ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
  })
  const answered = await fetch(`${server.issuer}/token`, { method: 'POST', headers, body })
  const { access_token } = (await answered.json()) as { access_token: string }
  const info = await fetch(`${server.issuer}/userinfo`, { headers: { authorization: `Bearer ${access_token}` } })
  return (await info.json()) as Record<string, unknown>
}

const isSignedIn = async (agent: UserAgent): Promise<boolean> => {
  const { left } = await agent.follow(authorizeUrl({ prompt: 'none' }))
  return left?.searchParams.has('code') === true
}

const answer = (interaction: string, verb: string, body: unknown, headers: Record<string, string> = {}) =>
  answerHandoff(server.admin, interaction, verb, body, headers)

const keys = () => createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))

const readRequest = async (at: URL) => {
  const rules = { issuer: server.issuer, audience: signInUrl, typ: 'handoff+jwt' }
  return (await jwtVerify(at.searchParams.get('request') ?? '', keys(), rules)).payload
}

describe('a service of the organisation', () => {
  it('gets a signed request and answers; the own cookie of the browser finishes the sign-in', async () => {
    const agent = new UserAgent()
    const at = await begin(agent, 'own', { login_hint: 'bob', max_age: '60', ui_locales: 'de' })
    const asked = await readRequest(at)
    expect(asked).toMatchObject({
      ...{ client_id: 'web', scope: 'openid profile email', login_hint: 'bob', max_age: 60, ui_locales: 'de' },
      exp: asked.iat! + 300,
    })
    const body = { subject: 'employee-7', claims: { name: 'Bob' }, amr: ['pwd'], auth_time: asked.iat }
    const { status, redirect_to: to = '' } = await answer(String(asked['interaction']), 'sign-in', body)
    expect(status).toBe(200)
    const stranger = new UserAgent()
    expect((await stranger.follow(to)).response.status).toBeGreaterThanOrEqual(400)
    expect(await claimsOf(await finish(agent, to))).toEqual({ sub: 'employee-7', name: 'Bob' })
  })

  it('may refuse', async () => {
    const agent = new UserAgent()
    const { interaction } = await readRequest(await begin(agent, 'own'))
    const { redirect_to: to = '' } = await answer(String(interaction), 'refuse', { reason: 'cancelled' })
    await agent.follow(to)
    expect(await isSignedIn(agent)).toBe(false)
  })

  it('[SI28] [SI29] [SI30] is believed once, with the token, and for what is an answer', async () => {
    const agent = new UserAgent()
    const { interaction, iat = 0 } = await readRequest(await begin(agent, 'own'))
    const id = String(interaction)
    const good = { subject: 'employee-8', claims: {} }
    const statusOf = async (...sent: Parameters<typeof answer>) => (await answer(...sent)).status
    expect(await statusOf(id, 'sign-in', good, { authorization: 'Bearer wrong' })).toBe(401)
    expect(await statusOf(id, 'sign-in', good, { origin: 'https://evil.example' })).toBe(403)
    for (const junk of [
      ...['', '[]', 'null', '{"subject":"a","subject":"b","claims":{}}'],
      { claims: {} },
      { ...good, subject: 'ü' },
      { ...good, subject: 'a'.repeat(256) },
      { ...good, admin: true },
      { ...good, claims: { sub: 'alice' } },
      { ...good, amr: 'pwd' },
      { ...good, auth_time: iat + 1000 },
      { subject: 'nobody' },
    ])
      expect(await statusOf(id, 'sign-in', junk)).toBe(400)
    expect(await statusOf('x'.repeat(43), 'sign-in', good)).toBe(404)
    expect(await statusOf('short', 'sign-in', good)).toBe(404)
    expect(await statusOf(id, 'sign-in', good)).toBe(200)
    expect(await statusOf(id, 'sign-in', { ...good, subject: 'employee-9' })).toBe(409)
    expect(await statusOf(id, 'refuse', {})).toBe(409)
  })
})
