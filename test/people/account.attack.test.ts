import { beforeAll, describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { putGrants, readSection, visitAccount, type AccountVisitor } from '../support/server/account-visitor.js'
import { person, startServer, subject, webClient, type TestServer } from '../support/server/server.js'

const mallory = { username: 'mallory', password: 'what Mallory alone knows', sub: 'm-1' }
const html = '<img src=x onerror=alert(1)>'
const cookie = 'signet-session'
const hostilePerson = { username: 'h', password: 'a password like others', sub: 'h-1', claims: { name: html } }

describe('/account, hostile', () => {
  const keep = disposeAfterAll()
  let server: TestServer
  beforeAll(async () => {
    server = keep(
      await startServer({
        configure: (written) => ({
          ...written,
          accounts: [...(written['accounts'] as object[]), mallory, hostilePerson],
          clients: [
            { ...webClient, client_id: 'hostile', client_name: html, logo_uri: 'https://x.example/"onerror=1' },
          ],
        }),
      }),
    )
  })

  const visit = (agent?: UserAgent) => visitAccount(server.issuer, agent)
  const enter = async (who = person, headers = {}): Promise<AccountVisitor> => {
    const visitor = visit(new UserAgent(headers))
    await visitor.signIn(who)
    return visitor
  }
  const applicationsOf = async (visitor: AccountVisitor) => (await visitor.section('applications')).values('client_id')
  /** Two browsers of one person, and no third. */
  const enterTwice = async (who = person): Promise<readonly [AccountVisitor, AccountVisitor]> => {
    const here = await enter(who)
    await here.send('sessions', { action: 'end_others' })
    return [here, await enter(who)]
  }
  const isIn = async (visitor: AccountVisitor) => !(await visitor.page()).html.includes('id="login-submit"')
  const sidsOf = async (visitor: AccountVisitor) => (await visitor.section('sessions')).values('sid')
  const error = (status: number) => ({ status, html: expect.stringContaining('<h1>Account error</h1>') as string })

  it('AC01 shows nobody anything without a session that is good, and leads to the sign-in and back', async () => {
    const gone = await enter()
    const value = gone.agent.cookies.get(cookie)?.value ?? ''
    const here = await enter()
    await here.send('sessions', { action: 'end_others' })
    for (const sent of ['', value, `${value}x`, 'A'.repeat(43), `${value}; ${cookie}=${value}`]) {
      const agent = new UserAgent()
      if (sent !== '') agent.setCookie(cookie, sent)
      for (const path of ['/account', '/account/sessions'])
        expect((await visit(agent).page(path)).html).toContain('id="login-submit"')
      const { url, html: shown } = await visit(agent).post('sessions', { action: 'end_others' })
      expect([url.pathname, shown.includes('id="login-submit"')]).toEqual([expect.stringMatching(/\/login$/), true])
    }
    const aside = await visit().page('/account?return_to=https://evil.example&section=//evil.example')
    expect(aside.html).not.toContain('evil')
    expect(await isIn(here)).toBe(true)
  })

  it('AC02 believes no form that is not of this page, section and session', async () => {
    const [here, there] = await enterTwice()
    const [sid = ''] = await sidsOf(here)
    const other = await enter(mallory)
    const { csrf } = await other.section('sessions')
    const ofThere = (await there.section('sessions')).csrf
    const { html: page } = await here.page()
    const ofLogout = /\/logout">\s*<input type="hidden" name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
    for (const forged of [undefined, '', 'x', csrf, ofThere, ofLogout, `${(await here.section('sessions')).csrf}x`])
      for (const action of [{ action: 'end', sid }, { action: 'end_others' }]) {
        const answer = await here.post('sessions', { ...action, ...(forged !== undefined && { csrf: forged }) })
        expect(answer).toMatchObject(error(403))
      }
    expect([await isIn(there), await isIn(other)]).toEqual([true, true])
    const own = await server.audit()
    expect(own.findLast(({ event }) => event === 'account.refused')).toMatchObject({
      sub: '248289761001',
      reason: 'csrf token missing or wrong',
    })
  })

  it('AC03 answers for the sid of another person, an unknown one and none alike', async () => {
    const [here, other] = [await enter(), await enter(mallory)]
    const spare = await enter(mallory)
    const [sid = ''] = await sidsOf(other)
    const answers = []
    for (const sent of [sid, 'A'.repeat(43), '', 'x'.repeat(10_000), '*', undefined]) {
      const {
        status,
        url,
        html: page,
      } = await here.send('sessions', { action: 'end', ...(sent !== undefined && { sid: sent }) })
      answers.push([status, url.hash, readSection(page, 'sessions').notice])
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toEqual([200, '#sessions', 'That browser was already signed out.'])
    await here.send('sessions', { action: 'end_others' })
    expect([await isIn(other), await isIn(spare)]).toEqual([true, true])
  })

  it('AC03 answers for an application of another person, an unknown one and none alike', async () => {
    const [here, other] = [await enter(), await enter(mallory)]
    await putGrants(server.directory, ['mine'], subject)
    await putGrants(server.directory, ['theirs'], mallory.sub)
    const answers = []
    for (const sent of ['theirs', 'nobody', '', 'x'.repeat(10_000), 'é', '__proto__', undefined]) {
      const fields = { action: 'withdraw', ...(sent !== undefined && { client_id: sent }) }
      const { status, url, html: page } = await here.send('applications', fields)
      answers.push([status, url.hash, readSection(page, 'applications').notice])
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toEqual([200, '#applications', 'That application doesn’t have access.'])
    expect(await applicationsOf(other)).toEqual(['theirs'])
    await other.send('applications', { action: 'withdraw', client_id: 'theirs' })
    expect(await applicationsOf(other)).toEqual([])
  })

  it('AC03 the current session cannot be ended by its sid', async () => {
    const [there, here] = [await enter(mallory), await enter(mallory)]
    const began = (await server.audit()).findLast(({ event }) => event === 'login.succeeded')
    expect(await sidsOf(here)).not.toContain(began?.['sid'])
    await here.send('sessions', { action: 'end', sid: String(began?.['sid']) })
    expect([await isIn(here), await isIn(there)]).toEqual([true, true])
  })

  it('AC04 does once what is sent twice', async () => {
    const [here, there] = await enterTwice()
    const { csrf, values } = await here.section('sessions')
    const [sid = ''] = values('sid')
    const form = { csrf, action: 'end', sid }
    await Promise.all([here.post('sessions', form), here.post('sessions', form)])
    const again = await here.post('sessions', form)
    expect(readSection(again.html, 'sessions').notice).toBe('That browser was already signed out.')
    expect([await isIn(here), await isIn(there)]).toEqual([true, false])
  })

  it('AC05 changes nothing by GET, HEAD, or what another site posts', async () => {
    const [here, there] = await enterTwice()
    const { csrf, values } = await here.section('sessions')
    const [sid = ''] = values('sid')
    for (const fields of [
      { csrf, action: 'end', sid },
      { csrf, action: 'end_others' },
    ])
      for (const method of ['GET', 'HEAD'])
        for (const path of ['/account', '/account/sessions'])
          await here.agent.fetch(`${server.issuer}${path}?${new URLSearchParams(fields)}`, { method })
    const crossSite = await new UserAgent({ 'sec-fetch-site': 'cross-site' }).fetch(
      `${server.issuer}/account/sessions`,
      {
        method: 'POST',
        body: new URLSearchParams({ csrf, action: 'end_others' }),
      },
    )
    expect([crossSite.status, crossSite.headers.getSetCookie()]).toEqual([303, []])
    expect(crossSite.headers.get('location')).toBe(`${server.issuer}/account/sessions`)
    expect(await isIn(there)).toBe(true)
  })

  it('AC06 begins another session at the sign-in, under a cookie that nobody chose', async () => {
    const planted = await enter(mallory)
    const value = planted.agent.cookies.get(cookie)?.value ?? ''
    const victim = new UserAgent()
    victim.setCookie(cookie, value)
    const { html: login, url } = await visit(victim).page('/account?account=other')
    await victim.submit(url, login, { ...person })
    expect(victim.cookies.get(cookie)?.value).not.toBe(value)
    // It stays what it was: Mallory's, and nobody else's.
    expect((await planted.page()).html).not.toContain('Alice Adams')
    const fixed = new UserAgent()
    fixed.setCookie(cookie, 'B'.repeat(43))
    await visit(fixed).signIn(person)
    expect(fixed.cookies.get(cookie)?.value).not.toBe('B'.repeat(43))
  })

  it('AC08 is shown in no frame and kept by no cache', async () => {
    const here = await enter()
    for (const path of ['/account', '/account/sessions']) {
      const { headers } = await here.page(path)
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
    }
  })

  it('AC09 keeps nothing of what a browser calls itself but names of its own', async () => {
    const here = await enter()
    for (const name of [html, `Firefox/1 ${html} Windows`, 'x'.repeat(6000), 'Chrome/<script>\'"', '\u00ff\u00fe'])
      await enter(person, { 'user-agent': name })
    const { html: shown, rows } = await here.section('sessions')
    expect(shown).not.toContain('onerror')
    expect(shown).not.toContain('script')
    expect(rows).toEqual(expect.arrayContaining(['Firefox on Windows', 'Chrome', 'Unknown browser']))
    await here.send('sessions', { action: 'end_others' })
  })

  it('AC09 shows texts of clients, people and details as text, and no picture but of the web', async () => {
    const hostile = await enter(hostilePerson)
    const detail = { type: html, [html]: html }
    await putGrants(server.directory, ['hostile', html], hostilePerson.sub, {
      scope: [html],
      resource: [html],
      authorizationDetails: [detail],
    })
    const { html: page } = await hostile.page()
    expect(page).not.toContain('<img src=x')
    expect(page).not.toContain('javascript:')
    expect(page.split('&lt;img src=x onerror=alert(1)&gt;').length).toBeGreaterThan(6)
    await hostile.send('applications', { action: 'withdraw', client_id: 'hostile' })
    expect(await applicationsOf(hostile)).toHaveLength(1)
  })

  it('AC10 refuses what no page of ours sends, and never by a 5xx', async () => {
    const here = await enter()
    const { csrf } = await here.section('sessions')
    const raw = (body: string) =>
      here.page('/account/sessions', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body,
      })
    for (const action of ['', 'constructor', 'END', '__proto__', 'end '])
      expect(await here.post('sessions', { csrf, action })).toMatchObject(error(400))
    expect(await raw(`csrf=${csrf}&action=end&action=end_others`)).toMatchObject(error(400))
    expect(await raw(`csrf=${csrf}&csrf=${csrf}&action=end_others`)).toMatchObject(error(400))
    expect(await raw(`csrf=${csrf}&action=${'x'.repeat(70_000)}`)).toMatchObject({ status: 413 })
    for (const section of ['constructor', 'Sessions', 'sessions%2f', '__proto__', 'x'.repeat(300)])
      expect(await here.page(`/account/${section}`)).toMatchObject({ status: 404 })
    for (const after of ['../x', 'x'.repeat(200), 'a b', 'ä'])
      expect(await here.page(`/account/sessions?after=${after}`)).toMatchObject({ status: 404 })
    for (const query of ['after=%00', 'after=a&after=b'])
      expect(await here.page(`/account/sessions?${query}`)).toMatchObject(error(400))
    expect(await here.page('/account?notice=a&notice=b')).toMatchObject(error(400))
    for (const after of ['zzzz', '----', 'A'.repeat(43)])
      expect(await here.page(`/account/sessions?after=${after}`)).toMatchObject({ status: 200 })
    expect(await isIn(here)).toBe(true)
  })

  it('AC14 says that something was done only where it was', async () => {
    const [here, there] = await enterTwice()
    const { url } = await here.send('sessions', { action: 'end', sid: 'x' })
    expect((await here.section('sessions')).notice).toBe('')
    const seal = url.searchParams.get('seal') ?? ''
    for (const query of [
      ...['notice=session_gone', 'notice=session_gone&seal=x', `notice=others_ended&seal=${seal}`],
      ...[`notice=constructor&seal=${seal}`, `seal=${seal}`],
    ])
      expect(readSection((await here.page(`/account?${query}`)).html, 'sessions').notice).toBe('')
    expect(readSection((await there.page(url.href.replace(/#.*/, ''))).html, 'sessions').notice).toBe('')
    expect(readSection((await here.page(url.href.replace(/#.*/, ''))).html, 'sessions').notice).not.toBe('')
    await here.send('sessions', { action: 'end_others' })
  })

  it('AC15 is the purpose of a sign-in alone', async () => {
    const visitor = visit()
    const { url } = await visitor.page()
    const consent = url.href.replace('/login', '/consent')
    expect((await visitor.page(consent)).status).toBe(400)
    const body = new URLSearchParams({ decision: 'allow' })
    expect((await visitor.page(consent, { method: 'POST', body })).status).toBe(400)
    const stranger = await visit().page(url.href)
    expect(stranger.status).toBe(400)
  })
})
