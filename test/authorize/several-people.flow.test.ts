import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startSharedBrowser, type SharedBrowser } from '../support/server/several-people.js'
import { UserAgent } from '../support/clients/user-agent.js'

let shared: SharedBrowser
beforeAll(async () => {
  shared = await startSharedBrowser()
})
afterAll(() => shared.close())

const hintOf = (name: string) => ({ id_token_hint: `ours:sub-${name}` })

describe('several people in one browser', () => {
  it('stay signed in side by side: select_account offers them, and the chosen one becomes current without a password', async () => {
    const agent = await shared.browserOf('alice', 'bob')
    expect((await shared.meet(agent)).met).toBe('bob')
    const page = await shared.meet(agent, { prompt: 'select_account' })
    expect(page.met).toBe('select')
    expect([...shared.offered(page.html).keys()]).toEqual(['bob', 'alice'])
    const chosen = await shared.choose(agent, page, 'alice')
    expect(chosen.subject).toBe('alice')
    expect(shared.events.findLast(({ event }) => event === 'session.selected')).toMatchObject({
      ...{ client_id: 'web', sub: 'sub-alice', sid: chosen.code?.authentication.sid },
    })
    expect((await shared.meet(agent)).met).toBe('alice')
    expect((await shared.meet(agent, { prompt: 'none' })).met).toBe('alice')
    const again = await shared.meet(agent, { prompt: 'select_account' })
    expect([...shared.offered(again.html).keys()]).toEqual(['alice', 'bob'])
  })

  it('keep a sid each, also when they sign in again', async () => {
    const agent = await shared.browserOf('carol')
    const [first] = shared.sessionsOf('carol').slice(-1)
    await shared.signIn(agent, 'dave')
    await shared.signIn(agent, 'carol')
    const [second] = shared.sessionsOf('carol').slice(-1)
    expect(second?.sid).toBe(first?.sid)
    expect(shared.sessionsOf('dave').at(-1)?.sid).not.toBe(first?.sid)
    expect(agent.cookies.get('signet-other-sessions')?.value).toMatch(/^[\w-]{43}$/)
  })

  it('a single person is offered, too, and another can sign in', async () => {
    const agent = await shared.browserOf('alice')
    const page = await shared.meet(agent, { prompt: 'select_account' })
    expect(page.met).toBe('select')
    const other = await agent.follow(`${page.url.href.replace(/select$/, 'login')}?account=other`)
    const html = await other.response.text()
    const { left } = await agent.submit(other.url, html, { username: 'bob', password: 'right' })
    expect((await shared.codeIn(left ?? new URL('x:')))?.subject).toBe('sub-bob')
    expect((await shared.meet(new UserAgent(), { prompt: 'select_account' })).met).toBe('login')
  })

  it('the chosen one enters the password if the client requires it, with the username filled in', async () => {
    for (const more of [{ prompt: 'select_account login' }, { prompt: 'select_account', max_age: '60' }]) {
      const agent = await shared.browserOf('alice', 'bob')
      shared.time.now += 100_000
      const login = await shared.choose(agent, await shared.meet(agent, more), 'alice')
      expect(login.html).toContain('name="username" type="text" value="alice"')
      const done = await shared.send(agent, login, { username: 'alice', password: 'right' })
      expect(done.code).toMatchObject({ subject: 'sub-alice', authentication: { auth_time: shared.time.now / 1000 } })
    }
  })

  it('consent is asked of the chosen person, in the same tab', async () => {
    const agent = await shared.browserOf('alice', 'bob')
    const prompt = 'select_account consent'
    const [first, second] = [await shared.meet(agent, { prompt }), await shared.meet(agent, { prompt })]
    const alice = await shared.choose(agent, first, 'alice')
    const bob = await shared.choose(agent, second, 'bob')
    expect([alice.html, bob.html].map((html) => /id="consent-account">([^<]+)/.exec(html)?.[1])).toEqual([
      'ALICE',
      'BOB',
    ])
    expect((await shared.send(agent, alice, { decision: 'allow' })).subject).toBe('alice')
    expect((await shared.send(agent, bob, { decision: 'allow' })).subject).toBe('bob')
    expect((await shared.meet(agent)).met).toBe('bob')
  })

  it('a repeated click gets the same answer', async () => {
    const agent = await shared.browserOf('alice', 'bob')
    const page = await shared.meet(agent, { prompt: 'select_account consent' })
    await shared.choose(agent, page, 'alice')
    expect((await shared.choose(agent, page, 'alice')).html).toContain('>ALICE<')
  })

  it('a client that names one gets that one, also silently, and the other stays current', async () => {
    const agent = await shared.browserOf('alice', 'bob')
    const claims = { claims: '{"id_token":{"sub":{"value":"sub-alice"}}}' }
    for (const sent of [hintOf('alice'), { ...hintOf('alice'), prompt: 'none' }, claims, { ...claims, prompt: 'none' }])
      expect((await shared.meet(agent, sent)).met).toBe('alice')
    expect((await shared.meet(agent)).met).toBe('bob')
    const consent = await shared.meet(agent, { ...hintOf('alice'), prompt: 'consent' })
    expect(/id="consent-account">([^<]+)/.exec(consent.html)?.[1]).toBe('ALICE')
    expect((await shared.send(agent, consent, { decision: 'allow' })).subject).toBe('alice')
    const login = await shared.meet(agent, { ...hintOf('alice'), prompt: 'login' })
    expect(login.html).toContain('value="alice"')
    for (const prompt of ['none', 'consent', 'select_account'])
      expect((await shared.meet(agent, { ...hintOf('carol'), prompt })).met).toBe('login_required')
  })

  it('login_hint offers the person that it names, by username or email, and never switches silently', async () => {
    const agent = await shared.browserOf('alice', 'bob', 'carol')
    for (const login_hint of ['alice', 'ALICE', 'alice@bank.example']) {
      const page = await shared.meet(agent, { login_hint })
      expect([...shared.offered(page.html).keys()]).toEqual(['alice', 'carol', 'bob'])
      expect(/<button[^>]*autofocus[^>]*>.*?class="name">([^<]+)/.exec(page.html)?.[1]).toBe('ALICE')
      expect((await shared.meet(agent, { login_hint, prompt: 'none' })).met).toBe('carol')
    }
    for (const login_hint of ['carol', 'nobody', ' ', 'sub-alice'])
      expect((await shared.meet(agent, { login_hint })).met).toBe('carol')
    expect((await shared.choose(agent, await shared.meet(agent, { login_hint: 'bob' }), 'bob')).subject).toBe('bob')
  })

  it('a login_hint that names nobody signed in here fills in the username field', async () => {
    const agent = await shared.browserOf('alice', 'bob')
    const another = async (login_hint: string) => {
      const { url } = await shared.meet(agent, { prompt: 'select_account', login_hint })
      const { response } = await agent.follow(`${url.href.replace(/select$/, 'login')}?account=other`)
      return /id="username"[^>]* value="([^"]*)"/.exec(await response.text())?.[1]
    }
    expect(await another('zoe')).toBe('zoe')
    expect(await another('alice')).toBe('')
  })

  it('the consent page leads to the other accounts, or to a sign-in if there is one person', async () => {
    const link = async (agent: UserAgent) =>
      /id="other-account" href="([^"]+)"/.exec((await shared.meet(agent, { prompt: 'consent' })).html)?.[1] ?? ''
    expect(await link(await shared.browserOf('alice'))).toMatch(/\/login\?account=other$/)
    const agent = await shared.browserOf('alice', 'bob')
    const { response, url } = await agent.follow(await link(agent))
    const page = { url, html: await response.text() }
    const consent = await shared.choose(agent, page, 'alice')
    expect(/id="consent-account">([^<]+)/.exec(consent.html)?.[1]).toBe('ALICE')
    expect((await shared.send(agent, consent, { decision: 'allow' })).subject).toBe('alice')
  })

  it('are at most five: one more ends the least recently current session, with its grants', async () => {
    const agent = await shared.browserOf('alice', 'bob', 'carol', 'dave', 'erin')
    expect(await shared.meet(agent, hintOf('alice'))).toMatchObject({ met: 'alice' })
    const sid = shared.sessionsOf('alice').at(-1)?.sid
    expect(shared.ended).not.toContain(sid)
    await shared.signIn(agent, 'frank')
    expect(shared.ended).toContain(sid)
    const page = await shared.meet(agent, { prompt: 'select_account' })
    expect([...shared.offered(page.html).keys()]).toEqual(['frank', 'erin', 'dave', 'carol', 'bob'])
    expect((await shared.meet(agent, { ...hintOf('alice'), prompt: 'none' })).met).toBe('login_required')
  })

  it('cancelling goes back to the client', async () => {
    const agent = await shared.browserOf('alice', 'bob')
    const page = await shared.meet(agent, { prompt: 'select_account' })
    const { left } = await shared.send(agent, page, { decision: 'cancel' })
    expect(left?.searchParams.get('error')).toBe('access_denied')
  })
})

describe('signing out where several people are signed in', () => {
  const logout = async (agent: UserAgent, query: Record<string, string> = {}) => {
    const { response, url, left } = await agent.follow(`${shared.issuer}/logout?${new URLSearchParams(query)}`)
    return { url, left, html: await response.text() }
  }

  it('of the current one makes nobody else current: the others are offered, never used silently', async () => {
    const agent = await shared.browserOf('alice', 'bob')
    const page = await logout(agent)
    expect(page.html).toMatch(/id="consent-account">BOB<[^]*id="still-signed-in">[^]*ALICE/)
    const done = await shared.send(agent, page, {})
    expect(done.html).toMatch(/id="signed-out"[^]*Still signed in here:[^]*ALICE/)
    expect(agent.cookies.has('signet-session')).toBe(false)
    expect((await shared.meet(agent, { prompt: 'none' })).met).toBe('login_required')
    const offered = await shared.meet(agent)
    expect([offered.met, ...shared.offered(offered.html).keys()]).toEqual(['select', 'alice'])
    expect((await shared.choose(agent, offered, 'alice')).subject).toBe('alice')
    expect((await shared.meet(agent, { prompt: 'none' })).met).toBe('alice')
  })

  it('of all ends every session of the browser, on the confirmation page and on the page afterwards', async () => {
    for (const after of [false, true]) {
      const agent = await shared.browserOf('alice', 'bob', 'carol')
      const sids = (['alice', 'bob', 'carol'] as const).map((name) => shared.sessionsOf(name).at(-1)?.sid)
      const page = await logout(agent)
      const shown = after ? { ...(await shared.send(agent, page, {})), url: page.url } : page
      const done = await shared.send(agent, shown, { accounts: 'all' })
      expect(done.html).toContain('You have been signed out in this browser.')
      expect(done.html).not.toContain('logout-all')
      expect(shared.ended).toEqual(expect.arrayContaining(sids))
      expect([...agent.cookies.keys()].filter((name) => name.includes('session'))).toEqual([])
      expect((await shared.meet(agent)).met).toBe('login')
    }
  })

  it('of one in the account chooser leaves the others, and a late form gets a message', async () => {
    const agent = await shared.browserOf('alice', 'bob')
    const page = await shared.meet(agent, { prompt: 'select_account' })
    const alice = shared.offered(page.html).get('alice') ?? ''
    const left = await shared.send(agent, page, { sign_out: alice })
    expect([...shared.offered(left.html).keys()]).toEqual(['bob'])
    expect(shared.ended).toContain(alice)
    expect(shared.events.findLast(({ event }) => event === 'session.ended')).toMatchObject({
      sub: 'sub-alice',
      client_id: 'web',
    })
    const late = await shared.send(agent, page, { account: alice })
    expect([late.status, late.html]).toEqual([400, expect.stringContaining('no longer signed in')])
    expect((await shared.meet(agent)).met).toBe('bob')
    const bob = shared.offered(left.html).get('bob') ?? ''
    expect((await shared.send(agent, left, { sign_out: bob })).url.pathname).toMatch(/login$/)
  })
})
