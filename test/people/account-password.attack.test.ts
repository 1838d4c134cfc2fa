import { fileURLToPath } from 'node:url'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { StorageBackend } from '../../core/storage/ports.js'
import { csrfToken } from '../../core/interaction/csrf.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { readSection, visitAccount, type AccountVisitor } from '../support/server/account-visitor.js'
import { addPeople, changePassword, passwordFields } from '../support/server/password-form.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'
import { inBothRoles } from '../support/stores/failing-store.js'

const bob = { username: 'bob', password: 'a password of Bob alone', sub: 'bob-1' }
const mallory = { username: 'mallory', password: 'a password of Mallory', sub: 'mallory-1' }
const wrong = 'not the password of Bob'
const next = 'four words that nobody knows'
const cookie = 'signet-session'
const knownBrowser = 'signet-known-browser'

describe('a new password at /account, hostile', () => {
  const keep = disposeAfterAll()
  let server: TestServer
  let offset = 0
  let current = bob.password
  /** What happens before an account changes in the store. */
  let meanwhile = async (): Promise<unknown> => undefined
  const heldBack =
    (records: StorageBackend['records']): StorageBackend['records'] =>
    <T>(name: string) => {
      const sound = records<T>(name)
      if (name !== 'accounts') return sound
      const update: typeof sound.update = async (id, decide) => {
        await meanwhile()
        return sound.update(id, decide)
      }
      return { ...sound, update }
    }
  beforeAll(async () => {
    const stores = inBothRoles((sound) => ({ ...sound, records: heldBack(sound.records) }))
    server = keep(await startServer({ clock: () => Date.now() + offset, doubles: { stores } }))
    await addPeople(server.directory, bob, mallory)
  })
  // Guesses of an earlier test are forgotten.
  beforeEach(() => void (offset += 2 * 86_400_000))

  const enter = async (who = { ...bob, password: current }): Promise<AccountVisitor> => {
    const visitor = visitAccount(server.issuer, new UserAgent())
    await visitor.signIn(who)
    return visitor
  }
  const isIn = async (visitor: AccountVisitor) => !(await visitor.page()).html.includes('id="login-submit"')
  const signs = async (who: { username: string; password: string }) => isIn(await enter({ ...bob, ...who }))
  const change = async (visitor: AccountVisitor, to: string) => {
    const answer = await changePassword(visitor, current, to)
    if (answer.section.notice !== '') current = to
    return answer
  }
  const eventsOf = async (name: string) => (await server.audit()).filter(({ event }) => event === name)

  it('AC04 does once what is sent twice, at once or later', async () => {
    const here = await enter()
    const { csrf } = readSection((await here.page('/account/password')).html, 'password')
    const before = (await eventsOf('account.password_changed')).length
    const form = { csrf, ...passwordFields(current, next) }
    const body = () => new URLSearchParams(form)
    const send = () => here.agent.fetch(`${server.issuer}/account/password`, { method: 'POST', body: body() })
    const answers = await Promise.all([send(), send(), send()])
    current = next
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 403, 403])
    expect((await eventsOf('account.password_changed')).length).toBe(before + 1)
    const there = await enter()
    const { csrf: old } = await change(there, bob.password)
    for (const typed of [passwordFields(next, 'yet another one of Bob'), passwordFields(bob.password, next)])
      expect(await there.post('password', { csrf: old, ...typed })).toMatchObject({ status: 403 })
    expect(await signs({ username: 'bob', password: bob.password })).toBe(true)
  })

  it('AC13 also ends sign-ins with the old password while the new one is written', async () => {
    const here = await enter()
    const between: AccountVisitor[] = []
    meanwhile = async () => {
      meanwhile = async () => undefined
      between.push(await enter())
      for (const visitor of between) expect(await isIn(visitor)).toBe(true)
    }
    await change(here, 'the next one of Bob alone')
    expect([between.length, await isIn(here)]).toEqual([1, true])
    for (const visitor of between) expect(await isIn(visitor)).toBe(false)
  })

  it('AC06 continues under a new cookie, and the previous one is dead', async () => {
    const here = await enter()
    const before = here.agent.cookies.get(cookie)?.value ?? ''
    await change(here, next)
    expect(here.agent.cookies.get(cookie)?.value).not.toBe(before)
    expect(await isIn(here)).toBe(true)
    const planted = new UserAgent()
    planted.setCookie(cookie, before)
    expect(await isIn(visitAccount(server.issuer, planted))).toBe(false)
  })

  it('AC06 leaves others who are signed in in this browser', async () => {
    const here = await enter(mallory)
    const { html, url } = await here.page('/account?account=other')
    await here.agent.submit(url, html, { ...bob, password: current })
    await change(here, 'a third one of Bob and his')
    const { html: select } = await here.page('/account?account=other')
    expect(select).toContain('>mallory<')
    expect(select).toContain('>bob<')
  })

  it.each([true, false])(
    'AC11 counts wrong ones with the sign-ins of that person, in a browser that is known: %s',
    async (isKnown) => {
      const here = await enter()
      if (!isKnown) here.agent.setCookie(knownBrowser, '')
      for (let guess = 0; guess < 4; guess++)
        expect(await changePassword(here, wrong, next)).toMatchObject({
          status: 403,
          section: { text: expect.stringContaining('This is not your current password.') as string },
        })
      const guesser = visitAccount(server.issuer, new UserAgent())
      if (isKnown) guesser.agent.setCookie(knownBrowser, here.agent.cookies.get(knownBrowser)?.value ?? '')
      for (let guess = 0; guess < 2; guess++)
        expect((await guesser.signIn({ ...bob, password: wrong })).status).toBe(403)
      const late = await changePassword(here, current, next)
      expect(late).toMatchObject({
        status: 429,
        section: { text: expect.stringContaining('Too many attempts.') as string },
      })
      expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await guesser.signIn({ ...bob, password: current })).status).toBe(429)
      expect(await isIn(here)).toBe(true)
    },
  )

  it('AC11 counts wrong ones that come at once, and strangers lock nobody out of the form', async () => {
    const here = await enter()
    const { csrf } = readSection((await here.page('/account/password')).html, 'password')
    const send = () => here.post('password', { csrf, ...passwordFields(wrong, next) })
    const statuses = (await Promise.all(Array.from({ length: 20 }, send))).map(({ status }) => status)
    expect(statuses.filter((status) => status === 403)).toHaveLength(6)
    expect(statuses.filter((status) => status === 429)).toHaveLength(14)
    const refused = await eventsOf('account.refused')
    expect(refused).toContainEqual(expect.objectContaining({ sub: bob.sub, reason: 'refused' }))
    expect(refused).toContainEqual(expect.objectContaining({ sub: bob.sub, reason: 'locked' }))
    offset += 2 * 86_400_000
    const back = await enter()
    const stranger = visitAccount(server.issuer, new UserAgent())
    for (let guess = 0; guess < 7; guess++) await stranger.signIn({ ...bob, password: wrong })
    expect((await stranger.signIn({ ...bob, password: wrong })).status).toBe(429)
    expect((await changePassword(back, wrong, next)).status).toBe(403)
  })

  it.each([
    ['is short', 'short', 'The new password must have at least 8 characters.'],
    ['is of one character', 'aaaaaaaaaaaa', 'must not be a single repeated character'],
    ['is a run', '12345678901', 'or a sequence such as 12345678'],
    ['is long', 'xy'.repeat(600), 'must have at most 1024 bytes'],
    ['is empty', '', 'must have at least 8 characters'],
  ])('AC11 refuses a new one that %s, without repeating it', async (_, to, problem) => {
    const here = await enter()
    const { status, html, section } = await changePassword(here, current, to)
    expect([status, section.text]).toEqual([400, expect.stringContaining(problem)])
    expect(html).toContain('id="new-password" name="new_password"')
    expect(section.html).toMatch(/id="new-password"[^>]*aria-invalid="true" aria-describedby="password-problem"/)
    if (to !== '') expect(html).not.toContain(to)
    expect(html).not.toContain(current)
    expect(await isIn(here)).toBe(true)
  })

  it('AC11 takes no new one that is the old one, the username, or not the same twice', async () => {
    const here = await enter()
    const same = await changePassword(here, current, current)
    expect([same.status, same.section.text]).toEqual([
      400,
      expect.stringContaining('must not be the one that you have'),
    ])
    const different = await changePassword(here, wrong, next, `${next} `)
    expect([different.status, different.section.text]).toEqual([400, expect.stringContaining('passwords don’t match')])
    expect(different.section.html).toMatch(/id="new-password-again"[^>]*aria-invalid="true"/)
    expect((await changePassword(here, wrong, 'short')).status).toBe(403)
  })

  it('AC11 changes the password of nobody else, whatever the form names', async () => {
    const here = await enter(mallory)
    const { csrf } = readSection((await here.page('/account/password')).html, 'password')
    const named = { username: 'bob', subject: bob.sub, sub: bob.sub }
    const theirs = await here.post('password', { csrf, ...named, ...passwordFields(current, next) })
    expect(theirs.status).toBe(403)
    await here.post('password', { csrf, ...named, ...passwordFields(mallory.password, 'the next one of Mallory') })
    expect(await signs({ username: 'mallory', password: 'the next one of Mallory' })).toBe(true)
    expect(await signs({ username: 'bob', password: current })).toBe(true)
  })

  it('AC02 AC05 believes no form of another section or session, and changes nothing by GET', async () => {
    const [here, there] = [await enter(), await enter(mallory)]
    const fields = passwordFields(current, next)
    const csrfOf = async (visitor: AccountVisitor, section: string) =>
      readSection((await visitor.page(`/account/${section}`)).html, section).csrf
    // Where there is another session, the section of sessions has forms.
    await enter()
    const [own, ofSessions] = [await csrfOf(here, 'password'), await csrfOf(here, 'sessions')]
    expect([own, ofSessions]).not.toContain('')
    for (const csrf of ['', 'x', ofSessions, await csrfOf(there, 'password'), `${own}x`])
      expect(await here.post('password', { csrf, ...fields })).toMatchObject({ status: 403 })
    expect((await here.page(`/account/password?${new URLSearchParams({ csrf: own, ...fields })}`)).status).toBe(200)
    expect(await here.post('sessions', { csrf: own, ...fields })).toMatchObject({ status: 403 })
    expect(await signs({ username: 'bob', password: current })).toBe(true)
  })

  it('AC12 has no form for an account of the configuration, and refuses one', async () => {
    const here = await enter({ ...bob, ...person })
    const part = await here.page('/account/password')
    const section = readSection(part.html, 'password')
    expect(section.text).toContain('Signet sets the password of this account.')
    expect(section.html).not.toContain('<form')
    expect((await here.section('password')).html).not.toContain('password-open')
    // No page of ours shows it: who knows the own cookie can make it.
    const sid = (await eventsOf('login.succeeded')).findLast(({ sub }) => sub === subject)?.['sid'] as string
    const csrf = csrfToken(here.agent.cookies.get(cookie)?.value ?? '', 'account', `password\n${sid}\n${subject}`)
    const answer = await here.post('password', { csrf, ...passwordFields(person.password, next) })
    expect(answer).toMatchObject({ status: 400, html: expect.stringContaining('Account error') as string })
    expect(await signs(person)).toBe(true)
  })

  it('AC12 has no such section with a login plugin that keeps no passwords of ours', async () => {
    const use = fileURLToPath(new URL('../support/server/two-method-login.ts', import.meta.url))
    const swap = (plugin: { use: string }) => (plugin.use === 'plugins/login/password' ? { use } : plugin)
    await using other = await startServer({
      configure: (written) => ({ ...written, plugins: (written['plugins'] as { use: string }[]).map(swap) }),
    })
    const here = visitAccount(other.issuer)
    await here.signIn(person)
    const { html } = await here.page()
    expect([html.includes('id="sessions"'), html.includes('id="password"')]).toEqual([true, false])
    expect((await here.page('/account/password')).status).toBe(404)
    const { csrf } = readSection(html, 'sessions')
    const form = { csrf, ...passwordFields(person.password, next) }
    expect((await here.post('password', form)).status).toBe(404)
  })
})
