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

describe('a client on the pages', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      configure: (written) => ({
        ...written,
        clients: [
          webClient,
          shop,
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

  it('PG01 a page takes pictures from the origin of the logo that it shows, and from no other', async () => {
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

  it('PG01 pages without a logo take pictures from here alone', async () => {
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

  it('links to website, policy and terms open elsewhere and learn nothing', async () => {
    for (const { html } of [await open('shop'), await toConsent('shop')])
      expect([...html.matchAll(/<a href="(https:[^"]+)"([^>]*)>([^<]+)</g)].map(([, ...parts]) => parts)).toEqual(
        [
          [shop.client_uri, 'Website'],
          [shop.policy_uri, 'Privacy policy'],
          [shop.tos_uri, 'Terms of service'],
        ].map(([uri, text]) => [uri, ' target="_blank" rel="noopener noreferrer"', text]),
      )
  })

  it('PG02 says of a client that registered itself where it leads to, and of no other', async () => {
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
        expect(html).toContain('This application registered itself, and nobody has checked who is behind it.')
        expect(/<strong id="returns-to">(?:<bdi>)?([^<]+)/.exec(html)?.[1]).toBe(place)
      }
    }
    for (const { html } of [await open('shop'), await toConsent('shop')]) {
      expect(html).toContain('https://shop.example/terms')
      expect(html).not.toContain('client-unchecked')
      expect(html).not.toContain(new URL(redirectUri).host)
    }
  })
})
