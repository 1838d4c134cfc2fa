import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import { person, publicClient, redirectUri, startServer, webClient, type TestServer } from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'

let server: TestServer
let now = Date.now()
beforeAll(async () => {
  server = await startServer({ clock: () => now })
})
afterAll(() => server[Symbol.asyncDispose]())

const tokensFor = async (agent: UserAgent, client: { client_id: string; client_secret?: string }) => {
  const answer = await agent.authorize(authorizeUrl(server.issuer, { client_id: client.client_id }), person)
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
  it('AZ17 takes an id_token that was issued to this client, its time over or not, and nothing else', async () => {
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
