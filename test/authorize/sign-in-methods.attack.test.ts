import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSignInAttempts } from '../../core/interaction/sign-in-attempts.js'
import { createEndSubject } from '../../core/oauth/subjects/subject-end.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { alice, startProvider, type Provider } from '../support/server/authorize-provider.js'
import { expectErrorPage } from '../support/server/authorize-pages.js'
import { ceremonyDouble, redirectDouble } from '../support/server/method-doubles.js'
import { passwordDouble } from '../support/server/password-double.js'

const corp = redirectDouble({ id: 'corp', amr: ['ext'], title: { en: 'Corporate account' } })
const other = redirectDouble({ id: 'other', amr: ['ext'] })
const key = ceremonyDouble({ id: 'key', amr: ['hwk'], title: { en: 'Passkey' } })
const doubles = [corp, other, key]

let provider: Provider
let openPlaces = Infinity

beforeAll(async () => {
  const password = passwordDouble(async ({ username, password: typed }) =>
    typed === alice.password ? { outcome: 'passed', subject: `sub-${username}`, amr: ['pwd'] } : { outcome: 'refused' },
  )
  provider = await startProvider({
    isLocalSubject: async (subject) => subject === 'sub-local',
    methods: new Map([...password, ...doubles.map((double) => [double.id, double] as const)]),
    openAttempts: {
      enter: async () => (openPlaces-- > 0 ? { allowed: true } : { allowed: false, retryAfterSeconds: 60 }),
      leave: async () => void openPlaces++,
    },
  })
})
afterAll(() => provider.close())
beforeEach(() => {
  openPlaces = Infinity
  for (const double of doubles) {
    double.broken = undefined
    double.begun.length = 0
    double.finished.length = 0
  }
})

const hidden = (html: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1] ?? ''

const open = async (agent = new UserAgent()) => {
  const { response, url } = await agent.follow(provider.url({ prompt: 'login' }))
  return { agent, url, html: await response.text() }
}

/** Somebody who has pressed the button of a method that is elsewhere. */
const leave = async (method = 'corp', page?: Awaited<ReturnType<typeof open>>) => {
  const { agent, url, html } = page ?? (await open())
  const { left = new URL('about:blank') } = await agent.submit(url, html, { method, begin: 'yes' })
  return { agent, url, html, state: left.searchParams.get('state') ?? '' }
}

const back = (agent: UserAgent, state: string, query: Record<string, string> = {}, method = 'corp') =>
  agent.fetch(
    `${provider.issuer}/sign-in/${method}/callback?${new URLSearchParams({ state, sub: 'sub-alice', ...query })}`,
  )

const isSignedIn = (agent: UserAgent): boolean => agent.cookies.has('signet-session')

describe('an answer from elsewhere', () => {
  it('signs in the person that the method returns, in the browser that started, and continues to the client', async () => {
    const { agent, state } = await leave()
    const response = await back(agent, state)
    expect(response.status).toBe(303)
    const { response: consent } = await agent.follow(response.headers.get('location') ?? '')
    expect(await consent.text()).toContain('id="consent-allow"')
    expect(corp.finished).toHaveLength(1)
    const [begun, finished] = [corp.begun.at(-1), corp.finished[0]]
    expect(finished).toMatchObject({ id: begun?.id, challenge: begun?.challenge, kept: { seen: begun?.challenge } })
    expect(finished?.callbackUrl).toBe(`${provider.issuer}/sign-in/corp/callback`)
    expect(finished?.request).toMatchObject({
      clientId: 'web',
      clientName: 'Web shop',
      scopes: ['openid'],
      prompt: 'login',
    })
    expect(provider.events.at(-1)).toMatchObject({
      event: 'login.succeeded',
      sub: 'sub-alice',
      method: 'corp',
      amr: ['ext'],
    })
  })

  it('[SI83] signs nobody in who has a local account, whatever the method returns; a form does', async () => {
    const { agent, state } = await leave()
    const response = await back(agent, state, { sub: 'sub-local' })
    expect((await agent.follow(response.headers.get('location') ?? '')).response.status).toBe(403)
    expect(isSignedIn(agent)).toBe(false)
    expect(provider.events.at(-1)).toMatchObject({
      event: 'login.refused',
      reason: 'the subject is an account of this deployment',
      method: 'corp',
    })
    const { agent: local, url, html } = await open()
    await local.submit(url, html, { username: 'local', password: alice.password })
    expect(isSignedIn(local)).toBe(true)
  })

  it('SI08 has no effect in another browser, and consumes nothing there', async () => {
    const { agent, state } = await leave()
    const stranger = new UserAgent()
    for (const thief of [stranger, (await open()).agent]) {
      await expectErrorPage(await back(thief, state), 400)
      expect(isSignedIn(thief)).toBe(false)
    }
    expect(corp.finished).toEqual([])
    // A page reads it before it is answered, and finds that of its own browser alone.
    const attempts = createSignInAttempts(provider.stores.signInAttempts, {
      enter: async () => ({ allowed: true }),
      leave: async () => {},
    })
    const cookieOf = (who: UserAgent) => who.cookies.get('signet-browser')?.value
    expect(await attempts.find(state, cookieOf(agent))).toMatchObject({ method: 'corp' })
    for (const cookie of [cookieOf((await open()).agent), undefined, ''])
      expect(await attempts.find(state, cookie)).toBeUndefined()
    await back(agent, state)
    expect(isSignedIn(agent)).toBe(true)
  })

  it('SI08 with the state of another browser signs nobody in', async () => {
    const [mine, theirs] = [await leave(), await leave()]
    await expectErrorPage(await back(mine.agent, theirs.state), 400)
    await expectErrorPage(await back(theirs.agent, mine.state), 400)
    expect(corp.finished).toEqual([])
  })

  it('SI09 counts once, also in parallel; a reload continues with the stored result', async () => {
    const { agent, state, url } = await leave()
    const answers = await Promise.all(Array.from({ length: 10 }, () => back(agent, state)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(303))
    expect(corp.finished).toHaveLength(1)
    const again = await back(agent, state, { sub: 'sub-bob' })
    expect(again.headers.get('location')).toBe(url.href)
    expect(corp.finished).toHaveLength(1)
  })

  it('SI10 is refused for another method, for none, or when it is late', async () => {
    const { agent, state } = await leave()
    await expectErrorPage(await back(agent, state, {}, 'other'), 400)
    await expectErrorPage(await back(agent, state, {}, 'password'), 400)
    await expectErrorPage(await back(agent, state, {}, 'nothing'), 400)
    for (const id of ['', 'A'.repeat(43), '__proto__', 'x'.repeat(5000)])
      await expectErrorPage(await back(agent, id), 400)
    // A ceremony is answered by a form, which no other site can send.
    const { html, agent: own } = await open()
    const ceremony = hidden(html.slice(html.indexOf('data-ceremony="key"')), 'attempt')
    expect(ceremony).not.toBe('')
    const answer = { answer: `${key.begun.at(-1)?.challenge ?? ''}:sub-alice` }
    await expectErrorPage(await back(own, ceremony, answer, 'key'), 400)
    expect(key.finished).toEqual([])
    const twice = `${provider.issuer}/sign-in/corp/callback?state=${state}&state=${state}`
    await expectErrorPage(await agent.fetch(twice), 400)
    expect(await provider.stores.signInAttempts.find(state)).toBeDefined()
    provider.time.now += 600_000
    expect(await provider.stores.signInAttempts.find(state)).toBeUndefined()
    await expectErrorPage(await back(agent, state), 400)
    expect([...corp.finished, ...other.finished]).toEqual([])
    expect(isSignedIn(agent)).toBe(false)
  })

  it('SI10 is refused when its interaction, which began earlier, is over', async () => {
    const page = await open()
    provider.time.now += 300_000
    const { agent, state } = await leave('corp', page)
    provider.time.now += 301_000
    await expectErrorPage(await back(agent, state), 400)
    expect(corp.finished).toEqual([])
  })

  it('SI11 that is refused or fails returns to the page, with a message beside the button', async () => {
    for (const [query, text] of [
      [{ sub: 'nobody', fail: 'bug' }, 'Signing in with Corporate account is currently unavailable.'],
      [{ fail: 'outage' }, 'Signing in with Corporate account is currently unavailable.'],
      [{ sub: 'sub-off' }, 'Signing in with Corporate account did not work.'],
    ] as const) {
      const { agent, state } = await leave()
      provider.disabled.add('sub-off')
      const response = await back(agent, state, query)
      const page = await agent.follow(response.headers.get('location') ?? '')
      const html = await page.response.text()
      expect(html).toContain(text)
      expect(isSignedIn(agent)).toBe(false)
      await agent.submit(page.url, html, { ...alice, method: 'password' })
      expect(isSignedIn(agent)).toBe(true)
    }
  })

  it('SI12 may not be older than the client requires, nor from before an end of sessions', async () => {
    const agent = new UserAgent()
    const { response, url } = await agent.follow(provider.url({ max_age: '60' }))
    const left = await leave('corp', { agent, url, html: await response.text() })
    const now = Math.floor(provider.time.now / 1000)
    await back(agent, left.state, { auth_time: String(now - 71) })
    expect(isSignedIn(agent)).toBe(false)
    const again = await leave('corp', left)
    await back(agent, again.state, { auth_time: String(now - 60) })
    expect(isSignedIn(agent)).toBe(true)
    const session = provider.stores.sessions.puts.at(-1) ?? ''
    expect(session).toContain(`"authTime":${now - 60}`)
    const underWay = await leave()
    const { revocations } = provider.stores
    const end = createEndSubject({
      revocations,
      clock: () => provider.time.now,
      lifetimeSeconds: 3600,
      notifyClients: async () => {},
    })
    await end('sub-alice')
    const ended = await back(underWay.agent, underWay.state)
    const page = await underWay.agent.follow(ended.headers.get('location') ?? '')
    expect([page.response.status, isSignedIn(underWay.agent)]).toEqual([403, false])
    provider.time.now += 1000
  })
})

describe('the answer of a form or a browser API', () => {
  const answerOf = (html: string, sub = 'sub-alice') => ({
    method: 'key',
    attempt: hidden(html.slice(html.indexOf('data-ceremony="key"')), 'attempt'),
    answer: `${key.begun.at(-1)?.challenge ?? ''}:${sub}`,
  })

  it('SI13 counts once, for the page and the browser of its challenge', async () => {
    const mine = await open()
    const answer = answerOf(mine.html)
    const elsewhere = await open(mine.agent)
    const stranger = await open()
    for (const { agent, url, html } of [elsewhere, stranger]) {
      const { response } = await agent.submit(url, html, answer)
      expect([response.status, isSignedIn(agent)]).toEqual([403, false])
    }
    expect(key.finished).toEqual([])
    const others = await Promise.all([1, 2, 3].map(() => mine.agent.submit(mine.url, mine.html, answer)))
    expect(key.finished).toHaveLength(1)
    expect(others.filter(({ response }) => response.status === 403)).toHaveLength(2)
    expect(isSignedIn(mine.agent)).toBe(true)
  })

  it('SI13 without an attempt, or for an unknown method, is refused', async () => {
    const { agent, url, html } = await open()
    const { attempt, ...answer } = answerOf(html)
    for (const sent of [
      answer,
      { ...answer, attempt: 'x' },
      { ...alice, attempt },
      { ...answer, method: 'corp', attempt },
    ]) {
      const { response } = await agent.submit(url, html, sent)
      expect(response.status).toBe(403)
    }
    const { response } = await agent.submit(url, html, { ...answer, method: 'nothing', attempt })
    await expectErrorPage(response, 400)
    expect([...key.finished, ...corp.finished]).toEqual([])
  })
})

describe('a method that fails', () => {
  it.each(['bug', 'outage'] as const)('SI14 (%s) is reported at its button, while the others work', async (failure) => {
    key.broken = failure
    corp.broken = failure
    const { agent, url, html } = await open()
    expect(html).toContain('Signing in with Passkey is currently unavailable.')
    const { response } = await agent.submit(url, html, { method: 'corp', begin: 'yes' })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '3'])
    const failed = await response.text()
    expect(failed).toContain('Signing in with Corporate account is currently unavailable.')
    await agent.submit(url, failed, { ...alice, method: 'password' })
    expect(isSignedIn(agent)).toBe(true)
  })

  it('SI15 an address that has too many open attempts keeps the other methods', async () => {
    openPlaces = 0
    const { agent, url, html } = await open()
    expect(html).toContain('Signing in with Passkey is currently unavailable.')
    const { response } = await agent.submit(url, html, { method: 'corp', begin: 'yes' })
    expect(response.status).toBe(429)
    await agent.submit(url, html, { ...alice, method: 'password' })
    expect(isSignedIn(agent)).toBe(true)
    openPlaces = 1
    const { agent: next, state } = await leave('corp', await open())
    expect(isSignedIn(next)).toBe(false)
    expect(state).toBe('')
  })
})

describe('the first button', () => {
  it('is the one that this browser used last, and never an unknown one named by a cookie', async () => {
    const { agent, state } = await leave()
    await back(agent, state)
    expect(agent.cookies.get('signet-method')?.value).toBe('corp')
    const front = async () => /id="login-submit"[^>]*>(.*?)<\/button>/.exec((await open(agent)).html)?.[1]
    expect(await front()).toContain('Corporate account')
    agent.setCookie('signet-method', '"><script>')
    expect(await front()).toContain('Sign in')
  })
})
