import { beforeAll, describe, expect, it } from 'vitest'
import { register } from '../support/clients/registration.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import { person, startServer, webClient, type TestServer } from '../support/server/server.js'

// Anybody can register a client that is nothing but an address. A link to Signet must not take people there without a word.

const keep = disposeAfterAll()
const redirect_uri = 'https://evil.example/cb?a=b'
const after = 'https://evil.example/phish'
const carol = { username: 'carol', password: 'a third horse battery staple' }
const bob = { username: 'bob', password: 'another horse battery staple' }

let server: TestServer
let client_id: string
beforeAll(async () => {
  server = keep(
    await startServer({
      configure: (written) => ({
        ...written,
        registration: { mode: 'open' },
        clients: [{ ...webClient, consent: 'implicit', post_logout_redirect_uris: [after] }],
        accounts: [...(written['accounts'] as object[]), { ...bob, sub: 'bob-7' }, { ...carol, sub: 'carol-1' }],
      }),
    }),
  )
  const registered = await register(server.issuer, {
    ...{ client_name: 'Lottery', redirect_uris: [redirect_uri], post_logout_redirect_uris: [after] },
    ...{ token_endpoint_auth_method: 'none', logo_uri: 'https://evil.example/logo.png' },
  })
  client_id = registered.client_id
})

const url = (more: Record<string, string> = {}) =>
  authorizeUrl(server.issuer, { client_id, redirect_uri, scope: 'openid', ...more })
const logoutUrl = (more: Record<string, string> = {}) =>
  `${server.issuer}/logout?${new URLSearchParams({ client_id, post_logout_redirect_uri: after, ...more })}`

const readable = (html: string) => html.replaceAll('&amp;', '&').replaceAll('&#39;', "'")

/** A page that names the client and the host, and where its link or form leads. */
const expectPage = async (response: Response, what: string) => {
  expect([response.status, response.headers.get('location')], what).toEqual([200, null])
  const html = readable(await response.text())
  for (const text of ['Lottery', 'evil.example', 'id="client-unchecked"']) expect(html, what).toContain(text)
  expect(html, what).not.toContain('<script')
  expect(html, what).not.toContain('logo.png')
  return html
}
const linkOf = (html: string) =>
  new URL(/id="(?:leaving-continue|back-to-client)" href="([^"]+)"/.exec(html)?.[1] ?? '')

const expectFree = (response: Response, to: string) => {
  expect(response.status).toBe(303)
  expect(response.headers.get('location')?.startsWith(to)).toBe(true)
}

const refused: Readonly<Record<string, Record<string, string>>> = {
  'prompt=none': { prompt: 'none' },
  'a wrong scope': { scope: 'nonsense' },
  'a wrong response type': { response_type: 'token' },
  'a wrong challenge': { code_challenge: 'x' },
  'a wrong resource': { resource: 'not a uri' },
  'a hint of nobody': { id_token_hint: 'junk' },
}

const signedIn = async (as: typeof person) => {
  const agent = new UserAgent()
  await agent.authorize(authorizeUrl(server.issuer), as)
  return agent
}

describe('a client that registered itself', () => {
  it.each(Object.entries(refused))(
    '[RG21] gets no browser by %s before anybody has allowed it something',
    async (_, more) => {
      const agents = [new UserAgent(), await signedIn(bob)]
      for (const agent of agents) {
        const html = await expectPage(await agent.fetch(url({ ...more, state: '"><b>' })), JSON.stringify(more))
        const link = linkOf(html.replaceAll('&quot;', '"'))
        expect(`${link.origin}${link.pathname}`).toBe('https://evil.example/cb')
        expect(link.searchParams.get('a')).toBe('b')
        expect(link.searchParams.get('error')).toMatch(/^[a-z_]+$/)
        const { response } = await agent.follow(url({ ...more, response_mode: 'form_post' }))
        const form = await expectPage(response, 'form_post')
        expect(form).toContain(`action="${redirect_uri}"`)
        expect(form).toMatch(/type="hidden" name="error" value="[a-z_]+"/)
      }
    },
  )

  it.each(['jwt', 'query.jwt', 'form_post.jwt'])(
    '[RG21] gets none by a signed answer either (%s)',
    async (response_mode) => {
      const html = await expectPage(await new UserAgent().fetch(url({ prompt: 'none', response_mode })), response_mode)
      expect(html).toMatch(/(?:[?&]response=|name="response" value=")eyJ/)
    },
  )

  it('[RG21] gets none after a sign-out, whoever the hint speaks of', async () => {
    const html = await expectPage(await new UserAgent().fetch(logoutUrl({ state: 's' })), 'nobody')
    expect(linkOf(html).href).toBe(`${after}?state=s`)
    // The hint is that of the attacker, who has signed in there.
    const attacker = new UserAgent()
    const back = await attacker.authorize(url(), bob)
    const form = {
      grant_type: 'authorization_code',
      code: back.searchParams.get('code') ?? '',
      redirect_uri,
      client_id,
    }
    const body = new URLSearchParams({ ...form, code_verifier: verifier })
    const { id_token: id_token_hint } = (await (
      await fetch(`${server.issuer}/token`, { method: 'POST', body })
    ).json()) as {
      id_token: string
    }
    await expectPage(await new UserAgent().fetch(logoutUrl({ id_token_hint })), 'hint')
    // At the attacker's own browser there is a consent.
    expectFree(await attacker.fetch(logoutUrl({ id_token_hint })), after)
  })

  it('[RG21] gets none from a person who signs out and has not allowed it anything', async () => {
    const agent = await signedIn(person)
    const { response, url: at } = await agent.follow(logoutUrl())
    const { response: done } = await agent.submit(new URL(`${at.origin}/logout`), await response.text(), {
      ...{ client_id, post_logout_redirect_uri: after },
    })
    const html = await expectPage(done, 'signed out')
    expect(html).toContain('id="signed-out"')
  })

  it('gets its answer at once in a frame, from a page where the person has acted, and after a consent', async () => {
    for (const [dest, isFree] of [
      ['iframe', true],
      ['empty', true],
      ['document', false],
    ] as const) {
      const response = await new UserAgent().fetch(url({ prompt: 'none' }), { headers: { 'sec-fetch-dest': dest } })
      if (isFree) expectFree(response, redirect_uri)
      else await expectPage(response, dest)
    }
    const agent = new UserAgent()
    const { response, url: at } = await agent.follow(url())
    const cancelled = await agent.submit(at, await response.text(), { decision: 'cancel' })
    expect(cancelled.left?.searchParams.get('error')).toBe('access_denied')
    const back = await agent.authorize(url(), person)
    expect(back.searchParams.has('code')).toBe(true)
    expectFree(await agent.fetch(url({ prompt: 'none' })), redirect_uri)
    expectFree(await agent.fetch(url({ prompt: 'none', scope: 'openid email' })), redirect_uri)
    expectFree(await agent.fetch(url({ response_type: 'token' })), redirect_uri)
    // Nobody else in whose browser there is no consent goes there.
    await expectPage(await (await signedIn(carol)).fetch(url({ response_type: 'token' })), 'carol')
  })

  it('[RG22] has no picture on a page before a consent, and its host is not asked for one', async () => {
    const agent = new UserAgent()
    const login = await agent.follow(url({ prompt: 'login' }))
    const loginHtml = await login.response.text()
    const consent = await agent.submit(login.url, loginHtml, { ...carol })
    const consentHtml = await consent.response.text()
    expect(consentHtml).toContain('id="consent-allow"')
    for (const [html, { response }] of [
      [loginHtml, login],
      [consentHtml, consent],
    ] as const) {
      expect(html).not.toContain('logo.png')
      expect(html).toContain('Lottery')
      expect(response.headers.get('content-security-policy')).toContain("img-src 'self';")
    }
  })

  it('is confirmed in five languages', async () => {
    const titles = ['en', 'de', 'fr', 'es', 'ar'].map(async (ui_locales) => {
      const html = await (await new UserAgent().fetch(url({ prompt: 'none', ui_locales }))).text()
      return /<h1>([^<]+)<\/h1>/.exec(html)?.[1]
    })
    expect(new Set(await Promise.all(titles)).size).toBe(5)
  })
})

it('a client of the operator gets its answers at once, as before', async () => {
  expectFree(await new UserAgent().fetch(authorizeUrl(server.issuer, { prompt: 'none' })), webClient.redirect_uris[0]!)
  expectFree(await new UserAgent().fetch(logoutUrl({ client_id: 'web' })), after)
})
