import { beforeAll, describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import {
  csrfIn,
  expectErrorPage,
  post,
  sessionCookie,
  walking,
  type Walking,
} from '../support/server/authorize-pages.js'
import { alice, bob } from '../support/server/authorize-provider.js'
import { provider, setUpProvider } from '../support/server/authorize-set-up.js'

setUpProvider()

let at: Walking
beforeAll(() => {
  at = walking(provider)
})

describe('login', () => {
  it('SI01 each sign-in begins a new session id and ends the old one', async () => {
    const agent = new UserAgent()
    agent.setCookie('signet-session', 'A'.repeat(43))
    await agent.authorize(provider.url(), alice)
    const first = sessionCookie(agent)
    expect(first).toMatch(/^[\w-]{43}$/)
    expect(first).not.toBe('A'.repeat(43))
    await agent.authorize(provider.url({ prompt: 'login' }), alice)
    const second = sessionCookie(agent)
    expect(second).not.toBe(first)

    const thief = new UserAgent()
    thief.setCookie('signet-session', first ?? '')
    expect((await at.open(thief, { prompt: 'none' })).left?.searchParams.get('error')).toBe('login_required')
    expect((await at.open(agent, { prompt: 'none' })).left?.searchParams.has('code')).toBe(true)
  })

  it('AZ22 answers the password with 303 to a separate page', async () => {
    const agent = new UserAgent()
    const { url, html } = await at.open(agent)
    const response = await post(agent, url, { csrf: csrfIn(html), ...alice })
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toBe(url.href)
  })

  it('SI07 nothing in a request decides where the sign-in leads', async () => {
    for (const target of ['//evil.example', '/\\evil.example', 'https://evil.example/']) {
      const agent = new UserAgent()
      const { url, html } = await at.open(agent, { returnTo: target })
      url.search = `?returnTo=${encodeURIComponent(target)}`
      const response = await post(agent, url, { csrf: csrfIn(html), returnTo: target, ...bob })
      expect(response.headers.get('location')).toBe(`${url.origin}${url.pathname}`)
    }
    await at.expectGood()
  })

  it('refuses a wrong password on the same page, and does not write it to the audit log', async () => {
    const agent = new UserAgent()
    const { url, html } = await at.open(agent)
    const [before, refused] = [provider.events.length, await provider.refusalsOf('login.refused')]
    for (const fields of [{ ...alice, password: 'wrong-password-canary' }, { username: 'nobody', password: 'x' }, {}]) {
      const response = await post(agent, url, { csrf: csrfIn(html), ...fields })
      expect(response.status).toBe(403)
      expect(await response.text()).toContain('Incorrect username or password')
    }
    expect(sessionCookie(agent)).toBeUndefined()
    expect(await provider.refusalsOf('login.refused')).toBe(refused + 3)
    const events = provider.events.slice(before)
    expect(new Set(events.map(({ event }) => event))).toEqual(new Set(['login.refused']))
    expect(JSON.stringify(events)).not.toContain('canary')
    expect((await post(agent, url, { csrf: csrfIn(html), ...alice })).status).toBe(303)
    expect(provider.events.at(-1)).toMatchObject({ event: 'login.succeeded', sub: 'sub-alice', client_id: 'web' })
  })

  it('shows how long an account stays locked', async () => {
    const agent = new UserAgent()
    const { url, html } = await at.open(agent)
    provider.locked.seconds = 30
    const response = await post(agent, url, { csrf: csrfIn(html), ...alice })
    provider.locked.seconds = 0
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('30')
    expect(await response.text()).toContain('Too many attempts')
    expect((await post(agent, url, { csrf: csrfIn(html), ...alice })).status).toBe(303)
  })

  it('refuses a form without the CSRF token, with another’s, or with a field twice', async () => {
    const agent = new UserAgent()
    const { url, html } = await at.open(agent)
    const other = await at.open(agent)
    for (const csrf of ['', 'x', csrfIn(other.html), `${csrfIn(html)}x`])
      await expectErrorPage(await post(agent, url, { csrf, ...alice }), 403)
    const twice = new URLSearchParams([...Object.entries({ csrf: csrfIn(html), ...alice }), ['username', 'bob']])
    await expectErrorPage(await agent.fetch(url, { method: 'POST', body: twice }), 400)
    expect((await post(agent, url, { csrf: csrfIn(html), ...alice })).status).toBe(303)
  })

  it('returns to the client with access_denied when cancelled, once', async () => {
    const agent = new UserAgent()
    const { url, html } = await at.open(agent)
    const response = await post(agent, url, { csrf: csrfIn(html), decision: 'cancel' })
    const answer = new URL(response.headers.get('location') ?? '')
    expect(Object.fromEntries(answer.searchParams)).toMatchObject({
      error: 'access_denied',
      state: 'st4te',
      iss: provider.issuer,
    })
    await expectErrorPage(await post(agent, url, { csrf: csrfIn(html), decision: 'cancel' }), 400)
    await at.expectGood()
  })

  it('shows login_hint as text', async () => {
    const { html } = await at.open(new UserAgent(), { login_hint: '"><script>alert(1)</script>' })
    expect(html).not.toContain('<script>alert')
    expect(html).toContain('&quot;&gt;&lt;script&gt;')
  })
})
