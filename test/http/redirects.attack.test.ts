import { beforeAll, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { basic } from '../support/clients/clients.js'
import { withHandoff } from '../support/clients/handoff.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import { askSilently } from '../support/server/opened.js'
import { person, startServer, webClient, type TestServer } from '../support/server/server.js'

// Names and values of parameters reach addresses only where they are known and encoded: none of them is a 500, a header or another address.

const keep = disposeAfterAll()
const after = 'https://client.example/signed-out'
const redirectUri = webClient.redirect_uris[0]!
const client = { ...webClient, consent: 'implicit', post_logout_redirect_uris: [after] }

let server: TestServer
beforeAll(async () => {
  const many = 1_000_000
  const one = { address_per_minute: many }
  const rate_limits = {
    authorize: { ...one, address_open: many },
    ...{ interaction: one, device_verify: one, refused: one },
  }
  server = keep(
    await startServer({
      log: noLog,
      configure: (written) => ({ ...withHandoff()(written), clients: [client], rate_limits }),
    }),
  )
})

/** As they stand in a body or query: percent-encoded. */
const odd: readonly string[] = [
  ...['%E2%82%AC', '%C3%BC', '%F0%9F%94%91', 'a%0d%0aX:%201', '%0d%0a%0d%0a', '%0a', '%0d', '%09', '%7f', '%01'],
  ...[
    '%20',
    '+',
    '%23',
    '%26x',
    'a%3Db',
    '%3F',
    '%25',
    '%2500',
    '%22%3E%3Cscript%3E',
    '%5B%5D',
    'a%5Bb%5D',
    '%2F%2Fevil.example',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'location',
    '%E2%80%A8',
    '%C2%85',
    '%EF%BB%BF',
    '%E2%80%AE',
  ],
  ...['%ED%A0%80', '%FF', '%', '%zz', '%00', 'x'.repeat(3000)],
]

/** Anything but a 5xx, and no header that was sent. */
const expectSound = async (response: Response, what: string): Promise<string | null> => {
  expect(response.status, what).toBeLessThan(500)
  expect(response.status, what).not.toBe(429)
  expect(response.headers.get('x'), what).toBeNull()
  const location = response.headers.get('location')
  await response.body?.cancel()
  if (location !== null) expect(location, what).toMatch(/^[\x21-\x7e]+$/)
  return location
}

const ownForm = { 'content-type': 'application/x-www-form-urlencoded' }
const crossSite = { ...ownForm, 'sec-fetch-site': 'cross-site' }

/** Every endpoint whose answer may be a redirect, with parameters that it takes. */
const places: Readonly<Record<string, () => string>> = {
  '/logout': () => `client_id=web&post_logout_redirect_uri=${encodeURIComponent(after)}`,
  '/authorize': () => new URL(authorizeUrl(server.issuer)).search.slice(1),
  '/device': () => 'user_code=ABCD-EFGH',
  '/account': () => 'account=other',
  '/sign-in/own/callback': () => 'state=x',
  '/recovery': () => 'link=x',
  '/interaction/x/login': () => 'account=other',
  '/interaction/x/select': () => 'account=other',
  '/interaction/x/consent': () => 'state=x',
}

describe.each(Object.keys(places))('%s', (path) => {
  const good = () => places[path]!()

  it.each(['GET', 'POST'])('accepts unusual names and values, by %s', async (method) => {
    for (const one of odd)
      for (const sent of [one, `${good()}&${one}=b`, `${good()}&state=${one}`]) {
        const url = `${server.issuer}${path}`
        for (const headers of method === 'GET' ? [{}] : [crossSite, ownForm]) {
          const response =
            method === 'GET'
              ? await new UserAgent().fetch(`${url}?${sent}`)
              : await new UserAgent().fetch(url, { method, headers, body: sent })
          const location = await expectSound(response, `${method} ${path} ${sent.slice(0, 200)}`)
          if (location !== null)
            expect([server.issuer, 'https://client.example'], sent).toContain(new URL(location, server.issuer).origin)
        }
      }
  })
})

it('a state is returned unchanged, and cannot add parameters', async () => {
  const agent = new UserAgent()
  await agent.authorize(authorizeUrl(server.issuer), person)
  for (const state of ['€', 'ü', '\r\nX: 1', 'a&code=b', '#', ' + ', '%', '"><script>', '\u2028', '🔑', "'*()~"]) {
    for (const more of [{}, { prompt: 'none' }, { scope: 'nonsense', prompt: 'none' }]) {
      const response = await agent.fetch(authorizeUrl(server.issuer, { ...more, state }))
      const location = await expectSound(response, state)
      expect(location, state).toMatch(new RegExp(`^${redirectUri.replaceAll('.', '\\.')}\\?`))
      expect(new URL(location ?? '').searchParams.getAll('state')).toEqual([state])
    }
    const out = `${server.issuer}/logout?${new URLSearchParams({ client_id: 'web', post_logout_redirect_uri: after, state })}`
    const location = await expectSound(await new UserAgent().fetch(out), state)
    expect([...new URL(location ?? '').searchParams]).toEqual([['state', state]])
  }
})

describe('[LO08] a form for /logout that another site posts', () => {
  const signIn = async (agent: UserAgent): Promise<string> => {
    const left = await agent.authorize(authorizeUrl(server.issuer), person)
    const code = left.searchParams.get('code') ?? ''
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
    const headers = { authorization: basic(webClient) }
    const body = new URLSearchParams(form)
    const answer = await fetch(`${server.issuer}/token`, { method: 'POST', headers, body })
    return ((await answer.json()) as { id_token: string }).id_token
  }
  const post = (agent: UserAgent, form: Record<string, string>, site: string) =>
    agent.follow(`${server.issuer}/logout`, {
      method: 'POST',
      headers: { 'sec-fetch-site': site },
      body: new URLSearchParams(form),
    })

  it('is sent again by a page, with the missing cookies, and with no hint in a URL', async () => {
    const agent = new UserAgent()
    const idToken = await signIn(agent)
    const sent = { id_token_hint: idToken, post_logout_redirect_uri: after, more: 'x' }
    const { response, url } = await post(new UserAgent(), sent, 'cross-site')
    expect([response.status, url.search]).toEqual([200, ''])
    const html = await response.text()
    expect(html).toContain(`action="${server.issuer}/logout"`)
    const fields = [...html.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)]
    expect(fields.map(([, name, value]) => [name, value])).toEqual([
      ['id_token_hint', idToken],
      ['post_logout_redirect_uri', after],
    ])
    const { left } = await post(agent, { id_token_hint: idToken, post_logout_redirect_uri: after }, 'same-origin')
    expect(left?.href).toBe(after)
    expect(await askSilently(server.issuer, agent)).toBe('login_required')
  })

  it('is repeated as GET without a hint', async () => {
    const form = { client_id: 'web', post_logout_redirect_uri: after, state: 'a b&c=€' }
    const body = new URLSearchParams({ ...form, more: 'x' })
    const at = `${server.issuer}/logout`
    const response = await new UserAgent().fetch(at, { method: 'POST', headers: crossSite, body })
    const to = new URL(response.headers.get('location') ?? '')
    expect([response.status, Object.fromEntries(to.searchParams)]).toEqual([303, form])
    expect((await new UserAgent().follow(to)).left?.searchParams.get('state')).toBe(form.state)
  })
})
