import { afterAll, beforeAll, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { challenge, verifier } from '../support/clients/fapi-client.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { person, redirectUri, startServer, webClient, type TestServer } from '../support/server/server.js'

const after = 'https://client.example/signed-out'
const shop = { ...webClient, consent: 'implicit', post_logout_redirect_uris: [after] }

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    configure: (written) => ({
      ...written,
      clients: [shop, { ...shop, client_id: 'other' }, { ...shop, client_id: 'gone', disabled: true }],
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const authorizeUrl = (more: Record<string, string> = {}) =>
  `${server.issuer}/authorize?${new URLSearchParams({
    ...{ client_id: 'web', redirect_uri: redirectUri, response_type: 'code', scope: 'openid' },
    ...{ code_challenge: challenge, code_challenge_method: 'S256', ...more },
  })}`
const signIn = async () => {
  const agent = new UserAgent()
  const left = await agent.authorize(authorizeUrl(), person)
  const form = { grant_type: 'authorization_code', code: left.searchParams.get('code') ?? '', code_verifier: verifier }
  const body = new URLSearchParams({ ...form, redirect_uri: redirectUri })
  const answer = await fetch(`${server.issuer}/token`, {
    method: 'POST',
    headers: { authorization: basic(shop) },
    body,
  })
  return { agent, tokens: (await answer.json()) as { readonly id_token: string } }
}
const out = async (agent: UserAgent, parameters: Record<string, string>) => {
  const { response, left } = await agent.follow(`${server.issuer}/logout?${new URLSearchParams(parameters)}`)
  return { status: response.status, left, html: await response.text() }
}
const state = async (agent: UserAgent) => {
  const { left } = await agent.follow(authorizeUrl({ prompt: 'none' }))
  return left?.searchParams.get('error') ?? 'code'
}

it('ignores an empty hint: it asks, signs out, and stays on its page', async () => {
  const bare = ['undefined', 'null', 'NULL', 'None', 'NaN', 'false', ' ', '{}', '[object Object]', '""', ' undefined ']
  for (const id_token_hint of bare)
    for (const client of [{ client_id: 'web' }, {}, { client_id: 'nobody' }, { client_id: 'gone' }]) {
      const { agent } = await signIn()
      const sent = { id_token_hint, ...client, post_logout_redirect_uri: after, state: 's' }
      const { html, ...asked } = await out(agent, sent)
      expect(asked, id_token_hint).toMatchObject({ status: 200, left: undefined })
      expect(html).toContain('id="logout-confirm"')
      const done = await agent.submit(new URL(`${server.issuer}/logout`), html, {})
      expect([done.left, done.response.status]).toEqual([undefined, 200])
      expect(await state(agent)).toBe('login_required')
    }
})

it('every error page links to the sign-out page', async () => {
  const { agent, tokens } = await signIn()
  for (const sent of [
    ...[{ id_token_hint: 'a.b.c' }, { client_id: 'nobody' }, { client_id: 'gone' }],
    ...[
      { id_token_hint: tokens.id_token, client_id: 'other' },
      { client_id: 'web', post_logout_redirect_uri: 'x' },
    ],
    { id_token_hint: tokens.id_token, post_logout_redirect_uri: 'https://evil.example/' },
  ]) {
    const { html, status } = await out(agent, sent)
    expect(status).toBe(400)
    const [, on = ''] = /id="sign-out" href="([^"]+)"/.exec(html) ?? []
    expect(on).toBe(`${server.issuer}/logout`)
    expect((await agent.follow(on)).response.status).toBe(200)
  }
  expect(await state(agent)).toBe('code')
})
