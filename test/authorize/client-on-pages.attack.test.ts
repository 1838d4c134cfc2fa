import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { register } from '../support/clients/registration.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { person, redirectUri, startServer, webClient, type TestServer } from '../support/server/server.js'

const shop = {
  ...webClient,
  client_id: 'shop',
  consent: 'required',
  logo_uri: 'https://pictures.example/logos/shop.png?v=1',
  client_uri: 'https://shop.example/',
  post_logout_redirect_uris: ['https://shop.example/out'],
  policy_uri: 'https://shop.example/privacy',
  tos_uri: 'https://shop.example/terms',
}
/** URLs whose host says something else in a Content-Security-Policy, or cannot stand in one. */
const hostileLogos = [
  'https://*/x.png',
  'https://a;script-src/x.png',
  'https://a,b/x.png',
  'https://[2001:db8::1]/x.png',
]

const imagesOf = ({ headers }: Response): string | undefined =>
  /img-src [^;]*/.exec(headers.get('content-security-policy') ?? '')?.[0]

/** Where the page leads back to; undefined: nowhere. */
const backOf = (html: string): string | undefined => /id="back-to-client" href="([^"]+)"/.exec(html)?.[1]
const sealOf = (html: string): string => /name="client" value="([^"]+)"/.exec(html)?.[1] ?? ''

describe('a client on the pages', () => {
  let server: TestServer
  const time = { ahead: 0 }
  beforeAll(async () => {
    server = await startServer({
      clock: () => Date.now() + time.ahead,
      configure: (written) => ({
        ...written,
        clients: [
          webClient,
          shop,
          { ...shop, client_id: 'portal.v2', initiate_login_uri: 'https://portal.example/login?a=b' },
          ...hostileLogos.map((logo_uri, at) => ({ ...shop, client_id: `hostile-${String(at)}`, logo_uri })),
        ],
        registration: { mode: 'open' },
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const open = async (client_id: string, agent = new UserAgent(), more: Record<string, string> = {}) => {
    const at = await agent.follow(authorizeUrl(server.issuer, { client_id, ...more }))
    return { ...at, agent, html: await at.response.text() }
  }
  const toConsent = async (client_id: string, more: Record<string, string> = {}) => {
    const { agent, url, html } = await open(client_id, new UserAgent(), more)
    const at = await agent.submit(url, html, { ...person })
    return { ...at, agent, html: await at.response.text() }
  }
  const get = async (agent: UserAgent, path: string) => {
    const { response } = await agent.follow(server.issuer + path)
    return { response, html: await response.text() }
  }

  it('PG01 a page loads images only from the origin of the logo that it shows', async () => {
    const signIn = await open('shop')
    const consent = await toConsent('shop')
    const wrong = await signIn.agent.submit(signIn.url, signIn.html, { username: 'alice', password: 'wrong' })
    for (const response of [signIn.response, wrong.response, consent.response])
      expect(imagesOf(response)).toBe("img-src 'self' https://pictures.example")
    await consent.agent.submit(consent.url, consent.html, { decision: 'allow' })
    const select = await open('shop', consent.agent, { prompt: 'select_account' })
    const logout = await get(consent.agent, '/logout?client_id=shop')
    const account = await get(consent.agent, '/account')
    expect(select.html).toContain('id="accounts"')
    for (const { response, html } of [select, logout, account]) {
      expect(imagesOf(response)).toBe("img-src 'self' https://pictures.example")
      expect(html).toContain('src="https://pictures.example/logos/shop.png?v=1"')
    }
  })

  it('PG01 pages without a logo load images only from the issuer', async () => {
    const { agent, response } = await toConsent('web')
    expect(imagesOf(response)).toBe("img-src 'self'")
    for (const path of ['/', '/logout', '/logout?client_id=web', '/interaction/x/login'])
      expect([path, imagesOf((await get(agent, path)).response)]).toEqual([path, "img-src 'self'"])
  })

  it.each(hostileLogos.map((logo, at) => [logo, `hostile-${String(at)}`]))(
    'PG01 a logo at %s is not shown, and changes no policy',
    async (logo, clientId) => {
      const { response, html } = await open(clientId)
      expect(html).toContain('id="login-submit"')
      expect(html).not.toContain('client-logo')
      expect(html).not.toContain(logo)
      expect(response.headers.get('content-security-policy')).toBe(
        (await get(new UserAgent(), '/')).response.headers.get('content-security-policy'),
      )
    },
  )

  it('links to website, policy and terms open in a new tab without a referrer', async () => {
    for (const { html } of [await open('shop'), await toConsent('shop')])
      expect([...html.matchAll(/<a href="(https:[^"]+)"([^>]*)>([^<]+)</g)].map(([, ...parts]) => parts)).toEqual(
        [
          [shop.client_uri, 'Website'],
          [shop.policy_uri, 'Privacy policy'],
          [shop.tos_uri, 'Terms of service'],
        ].map(([uri, text]) => [uri, ' target="_blank" rel="noopener noreferrer"', text]),
      )
  })

  it('PG02 shows where a self-registered client leads, and not for other clients', async () => {
    const unchecked = { client_name: 'Teller', token_endpoint_auth_method: 'none' }
    for (const [redirect_uri, place, more] of [
      ['https://teller.example@elsewhere.example:8443/cb', undefined, {}],
      ['https://elsewhere.example:8443/teller.example', 'elsewhere.example:8443', {}],
      ['https://xn--tllr-noa.example/cb', 'xn--tllr-noa.example', {}],
      ['com.teller.app:/cb', 'an application on this device', { application_type: 'native' }],
      ['http://127.0.0.1/cb', 'an application on this device', { application_type: 'native' }],
    ] as const) {
      const metadata = { ...unchecked, ...more, redirect_uris: [redirect_uri] }
      if (place === undefined) {
        await expect(register(server.issuer, metadata)).rejects.toThrow('invalid_redirect_uri')
        continue
      }
      const { client_id } = await register(server.issuer, metadata)
      for (const { html } of [
        await open(client_id, new UserAgent(), { redirect_uri }),
        await toConsent(client_id, { redirect_uri }),
      ]) {
        expect(html).toContain('This application registered itself. Nobody has verified who runs it.')
        expect(/<strong id="returns-to">(?:<bdi>)?([^<]+)/.exec(html)?.[1]).toBe(place)
      }
    }
    for (const { html } of [await open('shop'), await toConsent('shop')]) {
      expect(html).toContain('https://shop.example/terms')
      expect(html).not.toContain('client-unchecked')
      expect(html).not.toContain(new URL(redirectUri).host)
    }
  })

  it.each([
    ['shop', 'https://shop.example/'],
    ['portal.v2', 'https://portal.example/login?a=b&amp;iss='],
    ['web', undefined],
  ])('PG03 a form of %s that comes after the sign-in ended leads back to %s', async (client_id, expected) => {
    const login = await open(client_id)
    const seal = sealOf(login.html)
    expect(seal).toMatch(new RegExp(`^[\\w-]{43}\\.${client_id}$`))
    time.ahead += 11 * 60_000
    const late = await login.agent.submit(login.url, login.html, { ...person, client: seal })
    const lateHtml = await late.response.text()
    expect(lateHtml).toContain('This sign-in has ended or belongs to another browser.')
    expect(backOf(lateHtml)?.startsWith(expected ?? 'nowhere')).toBe(expected && true)
    const strangers = await open('shop')
    const forged = [
      ...['', 'shop', '.shop', `x.${client_id}`, seal.replace(client_id, 'shop2'), `${seal}.`, seal.slice(1)],
      ...[seal.replace(client_id, client_id === 'shop' ? 'portal.v2' : 'shop'), sealOf(strangers.html)],
      'https://evil.example/',
    ]
    for (const client of forged) {
      const answer = await login.agent.submit(login.url, login.html, { ...person, client })
      expect(answer.response.status).toBe(400)
      expect(backOf(await answer.response.text()), client).toBeUndefined()
    }
  })

  it('PG03 leads back from a sign-in that was already answered', async () => {
    const { agent, url, html } = await toConsent('shop')
    for (const expected of [undefined, shop.client_uri]) {
      const { response } = await agent.submit(url, html, { decision: 'deny' })
      expect(backOf(await response.text())).toBe(expected)
    }
  })

  it('PG03 leads back from a refused form to a registered address, whatever the request contains', async () => {
    const login = await open('shop')
    const url = new URL(`${login.url.href}?client_uri=https://evil.example/&redirect_uri=https://evil.example/`)
    for (const fields of [{ csrf: 'x' }, { csrf: 'x', client: 'x.portal.v2', client_uri: 'https://evil.example/' }]) {
      const html = await (await login.agent.submit(url, login.html, fields)).response.text()
      expect(html).toContain('The form has expired')
      expect(backOf(html)).toBe(shop.client_uri)
    }
  })

  it('PG03 does not lead back for a client that only the query names', async () => {
    const agent = new UserAgent()
    for (const more of [{ redirect_uri: 'https://evil.example/' }, { redirect_uri: shop.client_uri }]) {
      const { html } = await open('shop', agent, more)
      expect(html).toContain('Authorization error')
      expect(backOf(html)).toBeUndefined()
    }
    const out = await get(agent, '/logout?client_id=shop&post_logout_redirect_uri=https://evil.example/')
    expect([out.response.status, backOf(out.html)]).toEqual([400, undefined])
    const { url } = await open('shop')
    expect(backOf((await get(agent, `${url.pathname}?client=shop&client_id=shop`)).html)).toBeUndefined()
  })
})
