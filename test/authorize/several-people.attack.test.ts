import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEndSubject } from '../../core/oauth/subjects/subject-end.js'
import { newOpaqueToken } from '../../core/opaque-token.js'
import type { Session } from '../../core/interaction/session.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { startSharedBrowser, type SharedBrowser } from '../support/server/several-people.js'

let shared: SharedBrowser
beforeAll(async () => {
  shared = await startSharedBrowser()
})
afterAll(() => shared.close())

const current = 'signet-session'
const others = 'signet-other-sessions'
const cookie = (agent: UserAgent, name: string): string => agent.cookies.get(name)?.value ?? ''
const hintOf = (name: string) => ({ id_token_hint: `ours:sub-${name}` })
const select = { prompt: 'select_account' }
const everybody = async (agent: UserAgent) => [...shared.offered((await shared.meet(agent, select)).html).keys()]

describe('SP01 the cookie of the other accounts', () => {
  it('is opaque, HttpOnly and SameSite, of bounded length, and only the server can make it', async () => {
    const agent = await shared.browserOf('alice', 'bob', 'carol', 'dave', 'erin', 'frank')
    expect(cookie(agent, others)).toMatch(/^(?:[\w-]{43}\.){3}[\w-]{43}$/)
    const { url, html } = await shared.meet(agent, { prompt: 'login' })
    const csrf = /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? ''
    const body = new URLSearchParams({ csrf, username: 'alice', password: 'right' })
    const set = (await agent.fetch(url, { method: 'POST', body })).headers.getSetCookie()
    const line = set.find((one) => one.startsWith(`${others}=`))
    expect(line).toMatch(/; Path=\/; HttpOnly; SameSite=Lax; Max-Age=86400$/)
  })

  it.each<[string, (good: string) => string]>([
    ['empty', () => ''],
    ['garbage', () => 'x'],
    ['unknown tokens', () => [newOpaqueToken(), newOpaqueToken()].join('.')],
    ['five tokens', (good) => [good, ...Array.from({ length: 4 }, newOpaqueToken)].join('.')],
    ['a token cut off', (good) => good.slice(1)],
    ['with something behind it', (good) => `${good}.`],
    ['of 4 KiB', (good) => Array.from({ length: 90 }, () => good).join('.')],
    ['the hash, as it is in the store', () => JSON.parse(shared.stores.sessions.puts.at(-2) ?? '')[0] as string],
  ])('that is %s offers nobody and signs nobody in, and the next sign-in replaces it', async (_, tamper) => {
    const agent = await shared.browserOf('alice', 'bob')
    agent.setCookie(others, tamper(cookie(agent, others)))
    expect(await everybody(agent)).toEqual(['bob'])
    expect((await shared.meet(agent, { ...hintOf('alice'), prompt: 'none' })).met).toBe('login_required')
    await shared.signIn(agent, 'carol')
    expect(await everybody(agent)).toEqual(['carol', 'bob'])
  })

  it('that names the current account, or one twice, offers each once', async () => {
    const agent = await shared.browserOf('alice', 'bob')
    const good = cookie(agent, others)
    agent.setCookie(others, [good, cookie(agent, current), good, good].join('.'))
    expect(await everybody(agent)).toEqual(['bob', 'alice'])
  })

  it('may be missing in a browser that an earlier version signed in, whose session continues', async () => {
    const agent = await shared.browserOf('alice')
    expect(agent.cookies.has(others)).toBe(false)
    const [id, stored] = JSON.parse(shared.stores.sessions.puts.at(-1) ?? '') as [
      string,
      { username?: string } & Session,
    ]
    delete stored.username
    await shared.stores.sessions.put(id, stored, { ttlSeconds: 1000 })
    expect((await shared.meet(agent)).met).toBe('alice')
    await shared.signIn(agent, 'bob')
    expect(await everybody(agent)).toEqual(['bob', 'alice'])
  })
})

describe('SP02 a browser with one person', () => {
  it('costs one read of the session at each request, and no more', async () => {
    const agent = await shared.browserOf('alice')
    for (const sent of [{}, { prompt: 'none' }, { login_hint: 'bob' }, hintOf('alice'), hintOf('bob')]) {
      shared.reads.length = 0
      await shared.meet(agent, sent)
      expect(shared.reads).toHaveLength(1)
    }
    const several = await shared.browserOf('alice', 'bob', 'carol')
    shared.reads.length = 0
    expect((await shared.meet(several)).met).toBe('carol')
    expect((await shared.meet(several, hintOf('carol'))).met).toBe('carol')
    expect(shared.reads).toHaveLength(2)
  })
})

describe('SP03 a session planted in the browser by an attacker', () => {
  it('is not taken over by the person who signs in, and its cookie opens nothing of theirs', async () => {
    const stranger = await shared.browserOf('frank')
    const victim = new UserAgent()
    for (const name of [current, others]) victim.setCookie(name, cookie(stranger, current))
    await shared.signIn(victim, 'alice')
    expect(cookie(victim, current)).not.toBe(cookie(stranger, current))
    expect((await shared.meet(victim)).met).toBe('alice')
    expect((await shared.meet(stranger)).met).toBe('frank')
    expect((await shared.meet(stranger, { ...hintOf('alice'), prompt: 'none' })).met).toBe('login_required')
    expect(shared.sessionsOf('alice').at(-1)?.sid).not.toBe(shared.sessionsOf('frank').at(-1)?.sid)
  })

  it('of the same person is ended by the sign-in, wherever it is among the cookies', async () => {
    for (const name of [current, others]) {
      const elsewhere = await shared.browserOf('alice')
      const agent = await shared.browserOf('bob')
      agent.setCookie(name, cookie(elsewhere, current))
      await shared.signIn(agent, 'alice')
      expect((await shared.meet(elsewhere, { prompt: 'none' })).met).toBe('login_required')
      expect((await shared.meet(agent)).met).toBe('alice')
    }
  })
})

describe('SP04 a person whose sign-ins were ended, or whose account is gone', () => {
  it('is neither offered nor used, even if they are not the current one', async () => {
    const end = createEndSubject({
      revocations: shared.stores.revocations,
      clock: () => shared.time.now,
      lifetimeSeconds: 86_400,
      notifyClients: async () => {},
    })
    const agent = await shared.browserOf('alice', 'bob', 'carol')
    shared.time.now += 2000
    await end('sub-alice')
    shared.gone.add('sub-bob')
    expect(await everybody(agent)).toEqual(['carol'])
    for (const name of ['alice', 'bob'])
      expect((await shared.meet(agent, { ...hintOf(name), prompt: 'none' })).met).toBe('login_required')
    shared.gone.delete('sub-bob')
    shared.time.now += 86_400_000
    expect((await shared.meet(agent)).met).toBe('login')
  })
})

describe('SP05 the account chooser', () => {
  const post = (agent: UserAgent, url: URL, fields: Record<string, string>) =>
    agent.fetch(url, { method: 'POST', body: new URLSearchParams(fields) })
  const csrfIn = (html: string) => /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? ''

  it('changes nothing by GET', async () => {
    const agent = await shared.browserOf('alice', 'bob')
    const page = await shared.meet(agent, select)
    const alice = shared.offered(page.html).get('alice') ?? ''
    const before = [...agent.cookies]
    for (const query of [`account=${alice}`, `sign_out=${alice}`, 'decision=cancel'])
      expect((await agent.fetch(`${page.url}?${query}&csrf=${csrfIn(page.html)}`)).status).toBe(200)
    expect([...agent.cookies]).toEqual(before)
    expect(await everybody(agent)).toEqual(['bob', 'alice'])
  })

  it('refuses the form of another site, another page, another sign-in or another browser', async () => {
    const [agent, stranger] = [await shared.browserOf('alice', 'bob'), await shared.browserOf('alice', 'bob')]
    const page = await shared.meet(agent, select)
    const alice = shared.offered(page.html).get('alice') ?? ''
    const tokens = [
      ...['', 'x', csrfIn((await shared.meet(agent, { prompt: 'login' })).html)],
      ...[csrfIn((await shared.meet(agent, select)).html), csrfIn((await shared.meet(stranger, select)).html)],
    ]
    for (const csrf of tokens)
      for (const field of ['account', 'sign_out', 'decision'])
        expect((await post(agent, page.url, { csrf, [field]: alice })).status).toBe(403)
    expect((await post(stranger, page.url, { csrf: csrfIn(page.html), account: alice })).status).toBe(400)
    expect((await shared.meet(agent)).met).toBe('bob')
  })

  it('refuses an account that is not signed in in this browser', async () => {
    const [agent, elsewhere] = [await shared.browserOf('alice'), await shared.browserOf('bob')]
    const page = await shared.meet(agent, select)
    const bob = shared.offered((await shared.meet(elsewhere, select)).html).get('bob') ?? ''
    for (const account of [bob, 'sub-bob', '', cookie(elsewhere, current)]) {
      const answer = await shared.send(agent, page, { account })
      expect([answer.status, answer.code]).toEqual([400, undefined])
    }
    expect((await post(agent, page.url, { csrf: csrfIn(page.html) })).status).toBe(400)
    expect((await shared.meet(elsewhere)).met).toBe('bob')
  })

  it('a choice is valid only in its browser and its sign-in', async () => {
    const [agent, stranger] = [await shared.browserOf('alice', 'bob'), await shared.browserOf('alice', 'bob')]
    const choiceOf = async (of: UserAgent) => {
      const page = await shared.meet(of, select)
      const account = shared.offered(page.html).get('alice') ?? ''
      const chosen = await post(of, page.url, { csrf: csrfIn(page.html), account })
      return new URL(chosen.headers.get('location') ?? '').searchParams.get('account') ?? ''
    }
    const choices = [await choiceOf(agent), await choiceOf(stranger), newOpaqueToken(), 'x', '']
    const page = await shared.meet(agent, select)
    for (const choice of choices) {
      const login = `${page.url.href.replace(/select$/, 'login')}?account=${choice}`
      const { url, left } = await agent.follow(login)
      expect([left, url.pathname]).toEqual([undefined, page.url.pathname])
    }
  })
})

describe('SP06 signing out of all', () => {
  it('needs the form that this browser was shown for its current accounts', async () => {
    const [agent, stranger] = [await shared.browserOf('alice', 'bob'), await shared.browserOf('alice', 'bob')]
    const url = `${shared.issuer}/logout`
    const csrfOf = async (of: UserAgent) =>
      /name="csrf" value="([^"]+)"/.exec(await (await of.fetch(url)).text())?.[1] ?? ''
    const post = (of: UserAgent, csrf: string) =>
      of.fetch(url, { method: 'POST', body: new URLSearchParams({ accounts: 'all', ...(csrf !== '' && { csrf }) }) })
    const ended = shared.ended.length
    expect(await (await post(agent, '')).text()).toContain('id="logout-confirm"')
    for (const csrf of ['x', await csrfOf(stranger)]) expect((await post(agent, csrf)).status).toBe(403)
    // Of somebody who is current no more.
    const csrf = await csrfOf(agent)
    const shown = await agent.fetch(url, { method: 'POST', body: new URLSearchParams({ csrf }) })
    expect(shared.ended.length).toBe(ended + 1)
    for (const wrong of [csrf, 'x', ''])
      expect(await (await post(agent, wrong)).text()).toContain('id="still-signed-in"')
    expect(shared.ended.length).toBe(ended + 1)
    const right = /name="csrf" value="([^"]+)"/.exec(await shown.text())?.[1] ?? ''
    expect(await (await post(agent, right)).text()).not.toContain('id="still-signed-in"')
    expect(shared.ended.length).toBe(ended + 2)
    expect((await shared.meet(stranger)).met).toBe('bob')
  })
})
