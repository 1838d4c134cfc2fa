import { beforeAll, describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { readSection, visitAccount } from '../support/server/account-visitor.js'
import { alive, askSilently, openAll, stateOf, withEverything } from '../support/server/opened.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0'
const carol = { username: 'carol', password: 'a password of Carol alone', sub: 'carol-1' }
const bob = { username: 'bob', password: 'a password of Bob alone', sub: 'bob-1' }

describe('/account', () => {
  const keep = disposeAfterAll()
  let server: TestServer
  beforeAll(async () => {
    server = keep(
      await startServer({
        configure: (written) => {
          const all = withEverything(written)
          return { ...all, accounts: [...(all['accounts'] as object[]), bob, carol] }
        },
      }),
    )
  })

  const visit = (agent?: UserAgent) => visitAccount(server.issuer, agent)
  const browserOf = async (userAgent: string, who = person) => {
    const visitor = visit(new UserAgent({ 'user-agent': userAgent }))
    await visitor.signIn(who)
    return visitor
  }

  it('leads through the sign-in and back, and knows who is there', async () => {
    const visitor = visit()
    const login = await visitor.page()
    expect(login.url.pathname).toMatch(/^\/interaction\/[\w-]+\/login$/)
    expect(login.html).toContain('to view your account')
    const { status, html } = await visitor.signIn(person)
    expect([status, html]).toEqual([200, expect.stringContaining('Alice Adams')])
    expect(readSection(html, 'sessions').rows[0]).toContain('This browser')
    expect((await visitor.page('/account/sessions')).url.pathname).toBe('/account/sessions')
  })

  it('returns to the section that was requested without a session', async () => {
    const visitor = visit()
    const { html, url } = await visitor.page('/account/sessions')
    const { url: back } = await visitor.agent.submit(url, html, { ...person })
    expect(back.pathname).toBe('/account/sessions')
  })

  it('shows the username of a person without a name', async () => {
    const { html } = await (await browserOf(firefox, carol)).page()
    expect(html).toContain('<bdi id="consent-account">carol</bdi>')
  })

  it('is the target of the change-password URL for password managers', async () => {
    const response = await fetch(`${server.issuer}/.well-known/change-password`, { redirect: 'manual' })
    expect([response.status, response.headers.get('location')]).toEqual([303, `${server.issuer}/account/password`])
  })

  it('has times that a script can write in the time zone of the person', async () => {
    const { html } = await (await browserOf(firefox, carol)).page()
    expect(html).toMatch(/<time datetime="\d{4}-\d\d-\d\dT[\d:.]+Z">[^<]* UTC<\/time>/)
    expect(html).toMatch(/<script src="\/assets\/times\.js\?v=[\w-]+"><\/script>/)
  })

  it('lists each browser by its name, and signs out of one: it is over there and nowhere else', async () => {
    const [here, there] = [await browserOf('curl/8.5.0', bob), await browserOf(firefox, bob)]
    const { rows, values } = await here.section('sessions')
    expect(rows).toEqual(['Unknown browser This browser', 'Firefox on Windows'])
    const [sid = ''] = values('sid')
    const done = await here.send('sessions', { action: 'end', sid })
    expect(done.url.hash).toBe('#sessions')
    expect(readSection(done.html, 'sessions')).toMatchObject({
      notice: 'That browser has been signed out.',
      rows: ['Unknown browser This browser'],
    })
    expect(await askSilently(server.issuer, there.agent)).toBe('login_required')
    expect((await there.page()).html).toContain('id="login-submit"')
    expect(await server.audit()).toContainEqual(
      expect.objectContaining({ event: 'session.ended', sub: 'bob-1', sid, grants: 0, by_sid: expect.any(String) }),
    )
  })

  it('signs out everywhere else: what was granted there for that time ends, what is for the time after stays', async () => {
    const [one, other] = [await openAll(server.issuer, person), await openAll(server.issuer, person)]
    const here = visit()
    await here.signIn(person)
    const done = await here.send('sessions', { action: 'end_others' })
    expect(readSection(done.html, 'sessions')).toMatchObject({ notice: 'You have been signed out everywhere else.' })
    expect(readSection(done.html, 'sessions').text).toContain('You are not signed in anywhere else.')
    for (const opened of [one, other])
      expect(await stateOf(server.issuer, opened)).toEqual({ ...alive, session: 'login_required' })
    expect((await here.page()).html).toContain('Alice Adams')
    const lines = (await server.audit()).filter(({ event, sub }) => event === 'session.ended' && sub === subject)
    expect(new Set(lines.map(({ by_sid }) => by_sid)).size).toBe(1)
  })

  it('ends with a session the grants that are not for the time after it', async () => {
    const there = new UserAgent()
    const left = await there.authorize(authorizeUrl(server.issuer), person)
    expect(left.searchParams.get('code')).toEqual(expect.any(String))
    const here = visit()
    await here.signIn(person)
    await here.send('sessions', { action: 'end_others' })
    const ended = (await server.audit()).filter(({ event }) => event === 'session.ended')
    expect(ended.map(({ grants }) => grants)).toContain(1)
  })

  it('signs out here', async () => {
    const visitor = visit()
    await visitor.signIn(person)
    const { html } = await visitor.page()
    const csrf = /action="[^"]*\/logout">\s*<input type="hidden" name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? ''
    const out = await visitor.page('/logout', { method: 'POST', body: new URLSearchParams({ csrf }) })
    expect(out.html).toContain('id="signed-out"')
    expect((await visitor.page()).html).toContain('id="login-submit"')
  })

  it('lets another person sign in, who sees nothing of the previous one', async () => {
    const visitor = await browserOf(firefox, bob)
    const { html, url } = await visitor.page('/account?account=other')
    expect(html).toContain('id="login-submit"')
    const { response } = await visitor.agent.submit(url, html, { ...person })
    const shown = await response.text()
    expect(shown).toContain('Alice Adams')
    expect(shown).not.toContain('bob')
  })

  it('is absent when it is switched off', async () => {
    await using off = await startServer({ configure: (written) => ({ ...written, account_page: false }) })
    for (const path of ['/account', '/account/sessions']) expect((await fetch(off.issuer + path)).status).toBe(404)
  })
})
