import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newAssertionKey, signAssertion } from '../support/clients/client-assertion.js'
import { manage, register } from '../support/clients/registration.js'
import { basic } from '../support/clients/clients.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { person, redirectUri, startServer, webClient, type TestServer } from '../support/server/server.js'
import { noAnswers, openSite, textAnswer, type Site } from '../support/server/site.js'

const key = newAssertionKey()

describe('request objects behind a request_uri', () => {
  let site: Site
  let server: TestServer
  let now = Date.now()
  beforeAll(async () => {
    site = await openSite()
    const signing = { ...webClient, jwks: { keys: [key.publicJwk] }, consent: 'implicit' }
    server = await startServer({
      clock: () => now,
      configure: (written) => ({
        ...written,
        outbound: { allow_private_addresses: true },
        request_uris: 'registered',
        registration: { mode: 'open' },
        clients: [
          { ...signing, client_id: 'signing', request_uris: [`${site.url}/one`, `${site.url}/two`] },
          {
            ...signing,
            client_id: 'strict',
            require_signed_request_object: true,
            request_uris: [`${site.url}/strict`],
          },
          {
            ...signing,
            client_id: 'pushing',
            require_pushed_authorization_requests: true,
            request_uris: [`${site.url}/p`],
          },
          { ...webClient, client_id: 'without' },
        ],
      }),
    })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await site[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    now += 10_000
    site.asked.length = 0
    site.answer = textAnswer(objectOf('signing'))
  })

  const objectOf = (client_id: string, more: object = {}): string => {
    const seconds = Math.floor(now / 1000)
    const times = { exp: seconds + 60, nbf: seconds, iat: seconds }
    const asked = { redirect_uri: redirectUri, response_type: 'code', scope: 'openid', state: 'inner' }
    const claims = { client_id, iss: client_id, aud: server.issuer, ...times, ...asked, ...more }
    return signAssertion(key, { alg: key.alg, kid: key.kid, typ: 'oauth-authz-req+jwt' }, claims)
  }
  const urlOf = (query: Record<string, string> | string[][]) =>
    `${server.issuer}/authorize?${new URLSearchParams(query)}`
  const open = async (query: Record<string, string> | string[][]) => {
    const { response, left, url } = await new UserAgent().follow(urlOf(query))
    return { status: response.status, left, path: url.pathname, text: await response.text() }
  }
  const login = { status: 200, path: expect.stringMatching(/\/login$/) as string }
  const page = {
    status: 400,
    left: undefined,
    text: expect.stringContaining('is not registered, or cannot be read') as string,
  }

  it('are fetched, at most once a second, and replace all other parameters', async () => {
    const outer = { state: 'outer', scope: 'openid email', redirect_uri: 'https://evil.example/' }
    const at = urlOf({ client_id: 'signing', request_uri: `${site.url}/one`, ...outer })
    const left = await new UserAgent().authorize(at, person)
    expect(`${left.origin}${left.pathname}`).toBe(redirectUri)
    expect(left.searchParams.get('state')).toBe('inner')
    expect([left.searchParams.has('code'), site.asked.length]).toEqual([true, 1])
    expect(site.asked[0]).toMatchObject({
      method: 'GET',
      path: '/one',
      headers: { accept: expect.stringContaining('jwt') as string },
    })
    now += 999
    site.answer = textAnswer(objectOf('signing', { scope: 'nothing' }))
    const many = await Promise.all(
      Array.from({ length: 30 }, () => open({ client_id: 'signing', request_uri: `${site.url}/one` })),
    )
    expect(many.map(({ status, path }) => [status, path])).toEqual(Array.from({ length: 30 }, () => [200, login.path]))
    expect(site.asked).toHaveLength(1)
    now += 1
    const second = await open({ client_id: 'signing', request_uri: `${site.url}/one` })
    expect([second.left?.searchParams.get('error'), site.asked.length]).toEqual(['invalid_scope', 2])
  })

  it('count as signed requests, for clients that must sign', async () => {
    site.answer = textAnswer(objectOf('strict'))
    expect(await open({ client_id: 'strict', request_uri: `${site.url}/strict` })).toMatchObject(login)
  })

  it('are announced in discovery, with the required registration', async () => {
    const metadata = (await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()) as object
    expect(metadata).toMatchObject({ request_uri_parameter_supported: true, require_request_uri_registration: true })
  })

  it.each<[string, string, (site: Site) => string]>([
    ['of another client', 'signing', ({ url }) => `${url}/strict`],
    ['of a client that has none', 'without', ({ url }) => `${url}/one`],
    ['with a query', 'signing', ({ url }) => `${url}/one?x=1`],
    ['with a fragment', 'signing', ({ url }) => `${url}/one#x`],
    ['by another name of the host', 'signing', ({ url }) => `${url.replace('127.0.0.1', 'localhost')}/one`],
    ['with a dot segment', 'signing', ({ url }) => `${url}/./one`],
    ['of another scheme', 'signing', () => 'file:///etc/passwd'],
    ['in upper case', 'signing', ({ url }) => `${url}/ONE`],
  ])('JA15 %s get an error page, and nothing is fetched', async (_, client_id, uri) => {
    expect(await open({ client_id, request_uri: uri(site) })).toMatchObject(page)
    expect(site.asked).toEqual([])
  })

  it.each(Object.keys(noAnswers))(
    'JA16 F35 of a site that %s get an error page, and the site is left alone for 10 s',
    async (name) => {
      site.answer = noAnswers[name] ?? site.answer
      const asked = { client_id: 'signing', request_uri: `${site.url}/two` }
      const both = await Promise.all([open(asked), open(asked)])
      expect(both).toMatchObject([page, page])
      site.answer = textAnswer(objectOf('signing'))
      now += 9_999
      expect(await open(asked)).toMatchObject(page)
      expect(site.asked.map(({ path }) => path)).toEqual(['/two'])
      now += 1
      expect(await open(asked)).toMatchObject(login)
    },
  )

  it.each<[string, () => string]>([
    ['no JWT', () => 'x'],
    ['nothing', () => ''],
    ["another client's object", () => objectOf('strict')],
    ['an object with another one inside', () => objectOf('signing', { request_uri: `${site.url}/two` })],
    ['an object with a wrong signature', () => `${objectOf('signing').slice(0, -4)}AAAA`],
  ])('JA16 that are %s get an error page', async (_, text) => {
    site.answer = textAnswer(text())
    const answer = await open({ client_id: 'signing', request_uri: `${site.url}/one` })
    expect(answer).toMatchObject({
      status: 400,
      left: undefined,
      text: expect.stringContaining('The request object is invalid') as string,
    })
  })

  describe('with a fragment (OIDC Core §6.2)', () => {
    const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url')
    const signer = { redirect_uris: [redirectUri], jwks: { keys: [key.publicJwk] } }
    /** A client that has registered the document that it will have, which names no client. */
    const registerFor = async (fragmentOf: (text: string) => string) => {
      const told = await register(server.issuer, { ...signer, request_uris: [`${site.url}/mine`] })
      const { client_id } = told
      const text = objectOf(client_id)
      const uri = `${site.url}/mine#${fragmentOf(text)}`
      const { body } = await manage('PUT', told, { ...signer, client_id, request_uris: [uri] })
      expect(body).toMatchObject({ request_uris: [uri] })
      return { client_id, uri, text }
    }

    it.each([
      ['the hash', hashOf],
      ['the hash with padding', (text: string) => `${hashOf(text)}=`],
      ['the hash of a text that the client did not have yet', () => hashOf('another')],
      ['a word', () => 'x'],
      ['nothing', () => ''],
    ])('are fetched without it, whatever it is: %s', async (_, fragmentOf) => {
      const { client_id, uri, text } = await registerFor(fragmentOf)
      site.answer = textAnswer(text)
      site.asked.length = 0
      expect(await open({ client_id, request_uri: uri })).toMatchObject(login)
      expect(site.asked.map(({ path }) => path)).toEqual(['/mine'])
    })

    it('JA16 that are requested without it or with another one get an error page, and nothing is fetched', async () => {
      const { client_id, uri, text } = await registerFor(hashOf)
      site.answer = textAnswer(text)
      site.asked.length = 0
      const [bare = ''] = uri.split('#')
      for (const request_uri of [bare, `${bare}#`, `${bare}#${hashOf('another')}`, `${uri}=`])
        expect(await open({ client_id, request_uri })).toMatchObject(page)
      expect(site.asked).toEqual([])
    })

    it('JA16 must be signed in any case', async () => {
      const { client_id, uri, text } = await registerFor(hashOf)
      const [header, claims] = text.split('.')
      for (const forged of [`${header}.${claims}.`, `${text.slice(0, -4)}AAAA`]) {
        site.answer = textAnswer(forged)
        expect(await open({ client_id, request_uri: uri })).toMatchObject({ status: 400, left: undefined })
        now += 10_000
      }
    })
  })

  it('JA17 beside another object, twice, and at /par are refused', async () => {
    const uri = `${site.url}/one`
    const request = objectOf('signing')
    const beside = [
      ['client_id', 'signing'],
      ['request_uri', uri],
    ]
    for (const more of [
      ['request', request],
      ['request_uri', uri],
    ])
      expect(await open([...beside, more])).toMatchObject({ status: 400, left: undefined })
    expect(site.asked).toEqual([])
    const pushed = await fetch(`${server.issuer}/par`, {
      method: 'POST',
      headers: { authorization: basic({ ...webClient, client_id: 'signing' }) },
      body: new URLSearchParams({ request_uri: uri }),
    })
    expect([pushed.status, await pushed.json()]).toMatchObject([400, { error: 'invalid_request' }])
    expect(await open({ client_id: 'pushing', request_uri: `${site.url}/p` })).toMatchObject({
      status: 400,
      left: undefined,
    })
    expect(site.asked).toEqual([])
  })

  it('JA18 are not fetched unless the configuration allows it, and a client cannot register them', async () => {
    await using off = await startServer()
    const query = { client_id: 'app', request_uri: `${site.url}/one`, redirect_uri: redirectUri, response_type: 'code' }
    const { left } = await new UserAgent().follow(
      `${off.issuer}/authorize?${new URLSearchParams({ ...query, scope: 'openid' })}`,
    )
    expect(left?.searchParams.get('error')).toBe('request_uri_not_supported')
    expect(site.asked).toEqual([])
    const start = startServer({
      configure: (written) => ({ ...written, clients: [{ ...webClient, request_uris: [`${site.url}/one`] }] }),
    })
    await expect(start).rejects.toThrow(/clients\[0\]\.request_uris.*needs request_uris: registered/s)
  })

  it('JA15 do not lead into a private network', async () => {
    await using closed = await startServer({
      configure: (written) => ({
        ...written,
        outbound: { allow_private_addresses: false },
        request_uris: 'registered',
        clients: [{ ...webClient, jwks: { keys: [key.publicJwk] }, request_uris: [`${site.url}/one`] }],
      }),
    })
    const query = new URLSearchParams({ client_id: webClient.client_id, request_uri: `${site.url}/one` })
    const { response, left } = await new UserAgent().follow(`${closed.issuer}/authorize?${query}`)
    expect([response.status, left, site.asked]).toEqual([400, undefined, []])
  })
})
