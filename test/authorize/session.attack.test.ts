import { describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import type { Sent } from '../support/clients/authorize-ask.js'
import { alice, bob } from '../support/server/authorize-provider.js'
import { meet, provider, seconds, setUpProvider } from '../support/server/authorize-set-up.js'

setUpProvider()

const authTimeOf = async (answer: URL) => (await provider.codeIn(answer))?.authentication.auth_time

describe('prompt', () => {
  it('AZ14 none without a session: login_required and no page', async () => {
    expect(await meet(new UserAgent(), { prompt: 'none' })).toBe('login_required')
    expect(await meet(await provider.signedIn(), { prompt: 'none' })).toBe('code')
  })

  it('AZ14 none gets the same by form_post and by POST', async () => {
    const agent = new UserAgent()
    const response = await agent.fetch(provider.url({ prompt: 'none', response_mode: 'form_post' }))
    expect(await response.text()).toContain('name="error" value="login_required"')
    const body = new URL(provider.url({ prompt: 'none' })).searchParams
    const posted = await agent.fetch(`${provider.issuer}/authorize`, { method: 'POST', body })
    expect(posted.headers.get('location')).toContain('error=login_required')
  })

  it('none where consent is missing: consent_required', async () => {
    const agent = await provider.signedIn(bob)
    expect(await meet(agent, { prompt: 'none', scope: 'openid email offline_access' })).toBe('consent_required')
    expect(await meet(agent, { prompt: 'none' })).toBe('code')
  })

  it('login requires a sign-in for this very request', async () => {
    for (const prompt of ['login', 'login consent']) {
      const agent = await provider.signedIn()
      expect(await meet(agent, { prompt })).toBe('login')
      provider.time.now += 5000
      const answer = await agent.authorize(provider.url({ prompt }), alice)
      expect(await authTimeOf(answer)).toBe(seconds())
      expect(await meet(agent, { prompt })).toBe('login')
    }
  })

  it('login is not satisfied by an existing session', async () => {
    const agent = await provider.signedIn()
    const { url } = await agent.follow(provider.url({ prompt: 'login' }))
    const consent = await agent.fetch(url.href.replace('/login', '/consent'))
    expect(consent.headers.get('location')).toBe(url.href)
    // A login for another request does not do, either.
    await agent.authorize(provider.url({ prompt: 'login' }), alice)
    expect(await (await agent.fetch(url)).text()).toContain('id="login-submit"')
  })

  it('select_account may end with another account', async () => {
    const agent = await provider.signedIn()
    const answer = await agent.authorize(provider.url({ prompt: 'select_account' }), bob)
    expect((await provider.codeIn(answer))?.subject).toBe('sub-bob')
  })

  it('consent asks again for what was allowed before', async () => {
    const agent = await provider.signedIn()
    expect(await meet(agent)).toBe('code')
    expect(await meet(agent, { prompt: 'consent' })).toBe('consent')
  })
})

describe('max_age', () => {
  it('AZ16 0 always requires a sign-in, and auth_time is fresh', async () => {
    const agent = await provider.signedIn()
    expect(await meet(agent, { max_age: '0' })).toBe('login')
    expect(await meet(agent, { max_age: '0', prompt: 'none' })).toBe('login_required')
    provider.time.now += 1000
    const answer = await agent.authorize(provider.url({ max_age: '0' }), alice)
    expect(await authTimeOf(answer)).toBe(seconds())
    provider.time.now -= 60_000
    expect(await meet(agent, { max_age: '0' })).toBe('login')
    provider.time.now += 60_000
  })

  it('AZ16 a sign-in that is too old is repeated, and a recent one keeps its auth_time', async () => {
    const agent = await provider.signedIn()
    const then = seconds()
    provider.time.now += 99_000
    const answer = await agent.authorize(provider.url({ max_age: '100' }), alice)
    expect(await authTimeOf(answer)).toBe(then)
    provider.time.now += 2000
    expect(await meet(agent, { max_age: '100' })).toBe('login')
    expect(await meet(agent, { max_age: '4000000000' })).toBe('code')
  })

  it('default_max_age of the client applies when none is sent', async () => {
    const agent = await provider.signedIn(alice, { client_id: 'aged' })
    expect(await meet(agent, { client_id: 'aged' })).toBe('code')
    provider.time.now += 101_000
    expect(await meet(agent, { client_id: 'aged' })).toBe('login')
    expect(await meet(agent, { client_id: 'aged', max_age: '1000' })).toBe('code')
  })
})

describe('the requested user', () => {
  it('AZ17 not the one who is signed in: login_required', async () => {
    const agent = await provider.signedIn()
    for (const sent of [{ id_token_hint: 'ours:sub-bob' }, { claims: '{"id_token":{"sub":{"value":"sub-bob"}}}' }]) {
      expect(await meet(agent, sent)).toBe('login_required')
      expect(await meet(agent, { ...sent, prompt: 'none' })).toBe('login_required')
    }
    expect(await meet(agent, { id_token_hint: 'ours:sub-alice' })).toBe('code')
  })

  it('AZ17 not the one who then signs in: login_required', async () => {
    const answer = await new UserAgent().authorize(provider.url({ id_token_hint: 'ours:sub-bob' }), alice)
    expect(Object.fromEntries(answer.searchParams)).toMatchObject({
      error: 'login_required',
      state: 'st4te',
      iss: provider.issuer,
    })
    const right = await new UserAgent().authorize(provider.url({ id_token_hint: 'ours:sub-bob' }), bob)
    expect((await provider.codeIn(right))?.subject).toBe('sub-bob')
  })

  it('is signed out when the account is gone', async () => {
    const agent = await provider.signedIn()
    provider.disabled.add('sub-alice')
    expect(await meet(agent)).toBe('login')
    expect(await meet(agent, { prompt: 'none' })).toBe('login_required')
    provider.disabled.clear()
    expect(await meet(agent)).toBe('code')
  })

  it('is signed out when the session is over', async () => {
    const agent = await provider.signedIn()
    provider.time.now += 86_400_000
    expect(await meet(agent)).toBe('login')
  })

  it('an essential acr that is not available gets no sign-in', async () => {
    const claims = '{"id_token":{"acr":{"essential":true,"values":["urn:high"]}}}'
    const agent = await provider.signedIn()
    expect(await meet(agent, { claims, prompt: 'none' })).toBe('login_required')
    const answer = await agent.authorize(provider.url({ claims }), alice)
    expect(answer.searchParams.get('error')).toBe('unmet_authentication_requirements')
    expect(await meet(agent, { claims: '{"id_token":{"acr":{"values":["urn:high"]}}}' })).toBe('code')
  })
})

describe('HX01 a form that another site posts', () => {
  const posted = (sent: Sent = {}) =>
    ({
      method: 'POST',
      body: new URL(provider.url(sent)).searchParams,
      headers: { 'sec-fetch-site': 'cross-site' },
      redirect: 'manual',
    }) as const
  /** As a browser posts it: without the cookies, which are `SameSite=Lax`. */
  const postWithoutCookies = (sent: Sent = {}) => fetch(`${provider.issuer}/authorize`, posted(sent))
  const loginPage = /\/interaction\/[\w-]{43}\/login$/

  it('is answered with the session although its cookies were not sent', async () => {
    const agent = await provider.signedIn()
    const response = await postWithoutCookies({ prompt: 'none' })
    const location = response.headers.get('location') ?? ''
    expect(location).toMatch(loginPage)
    expect((await agent.follow(location)).left?.searchParams.has('code')).toBe(true)

    const stranger = new UserAgent()
    const again = await stranger.follow(`${provider.issuer}/authorize`, posted({ prompt: 'none' }))
    expect(again.left?.searchParams.get('error')).toBe('login_required')
  })

  it('sets no cookie and ends no sign-in in progress; both continue in the same browser', async () => {
    const agent = new UserAgent()
    const first = await agent.follow(provider.url())
    const before = agent.cookies.get('signet-browser')?.value
    const response = await postWithoutCookies()
    expect(response.headers.getSetCookie()).toEqual([])
    const second = await agent.follow(response.headers.get('location') ?? '')
    expect(second.url.pathname).toMatch(loginPage)
    expect(agent.cookies.get('signet-browser')?.value).toBe(before)
    for (const { url, response: shown } of [first, second]) {
      const { left } = await agent.submit(url, await shown.text(), { ...alice })
      expect(left?.searchParams.has('code')).toBe(true)
    }
  })

  it('HX02 is opened by one of many browsers, and remains a cross-site POST', async () => {
    const { headers } = await postWithoutCookies()
    const location = headers.get('location') ?? ''
    // Not by a form, and not on the page of consent.
    const fields = new URLSearchParams({ ...alice, csrf: 'x', decision: 'cancel' })
    expect((await new UserAgent().fetch(location, { method: 'POST', body: fields })).status).toBe(400)
    expect((await new UserAgent().fetch(location.replace(/login$/, 'consent'))).status).toBe(400)
    const agents = Array.from({ length: 20 }, () => new UserAgent())
    const answers = await Promise.all(agents.map((agent) => agent.follow(location)))
    const won = answers.filter(({ response }) => response.status === 200)
    expect(won).toHaveLength(1)
    expect(answers.filter(({ response }) => response.status === 400)).toHaveLength(19)
    const winner = agents[answers.findIndex(({ response }) => response.status === 200)]
    const [{ url, response }] = won as [(typeof answers)[number]]
    expect(url.href).not.toBe(location)
    const left = (await winner?.submit(url, await response.text(), { ...alice }))?.left
    expect(left?.searchParams.get('error') ?? 'code').toBe('code')
  })
})
