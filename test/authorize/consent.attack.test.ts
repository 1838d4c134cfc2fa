import { beforeAll, describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { csrfIn, expectErrorPage, post, walking, type Walking } from '../support/server/authorize-pages.js'
import { alice, bob, callback } from '../support/server/authorize-provider.js'
import { provider, setUpProvider } from '../support/server/authorize-set-up.js'

setUpProvider()

let at: Walking
beforeAll(() => {
  at = walking(provider)
})

describe('consent', () => {
  it('SI03 a form without the CSRF token is refused, whatever it contains', async () => {
    const agent = new UserAgent()
    const { url, html } = await at.openConsent(agent)
    const codes = provider.stores.codes.puts.length
    const login = await at.open(agent, { prompt: 'login' })
    for (const csrf of ['', 'x', csrfIn(login.html)])
      for (const decision of ['allow', 'deny']) await expectErrorPage(await post(agent, url, { csrf, decision }), 403)
    expect(provider.stores.codes.puts.length).toBe(codes)
    expect((await post(agent, url, { csrf: csrfIn(html), decision: 'allow' })).status).toBe(303)
  })

  it('SI04 grants what was shown, whatever else the form contains', async () => {
    const agent = new UserAgent()
    const { url, html } = await at.openConsent(agent)
    const response = await post(agent, url, {
      csrf: csrfIn(html),
      decision: 'allow',
      scope: 'openid email offline_access',
      resource: 'https://api.example/',
      sub: 'sub-bob',
      account: 'sub-bob',
      client_id: 'second',
      redirect_uri: 'https://evil.example/',
    })
    const answer = new URL(response.headers.get('location') ?? '')
    expect(answer.href.startsWith(`${callback}?code=`)).toBe(true)
    expect(await provider.codeIn(answer)).toMatchObject({
      clientId: 'web',
      subject: 'sub-alice',
      scope: ['openid'],
      resource: [provider.issuer],
    })
  })

  it('SI04 a page that was shown to one person cannot be answered by another', async () => {
    const agent = new UserAgent()
    const { url, html } = await at.openConsent(agent, alice)
    await at.openConsent(agent, bob)
    // This interaction asked for a login of its own, and bob's was for another.
    const response = await post(agent, url, { csrf: csrfIn(html), decision: 'allow' })
    expect(response.headers.get('location')).toBe(url.href.replace('/consent', '/login'))

    const quiet = new UserAgent()
    const first = await at.openConsent(quiet, alice, { prompt: 'consent' })
    await at.openConsent(quiet, bob)
    await expectErrorPage(await post(quiet, first.url, { csrf: csrfIn(first.html), decision: 'allow' }), 403)
    await at.expectGood()
  })

  it('a denial reaches the client, and overrides an approval in another tab', async () => {
    const agent = new UserAgent()
    await agent.authorize(provider.url(), bob)
    const sent = { scope: 'openid profile email' }
    const [one, two] = [await at.open(agent, sent), await at.open(agent, sent)]
    await post(agent, one.url, { csrf: csrfIn(one.html), decision: 'allow' })
    const response = await post(agent, two.url, { csrf: csrfIn(two.html), decision: 'deny' })
    const answer = new URL(response.headers.get('location') ?? '')
    expect(answer.searchParams.get('error')).toBe('access_denied')
    expect(answer.searchParams.get('iss')).toBe(provider.issuer)
    expect(provider.events.slice(-2).map(({ event }) => event)).toEqual(['consent.denied', 'authorization.refused'])
    await expectErrorPage(await post(agent, two.url, { csrf: csrfIn(two.html), decision: 'maybe' }), 400)
  })

  it('shows the client and its request as text', async () => {
    const { html } = await at.openConsent(new UserAgent(), alice, {
      prompt: 'login consent',
      scope: 'openid profile',
      resource: 'https://api.example/',
      claims: '{"userinfo":{"phone_number":null,"sub":null}}',
    })
    for (const text of ['Web shop', 'alice &lt;b&gt;Adams&lt;/b&gt;', 'api.example']) expect(html).toContain(text)
    expect(html).not.toContain('<b>Adams')
  })
})
