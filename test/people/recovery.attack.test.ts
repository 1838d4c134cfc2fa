import { subjectLifetime } from '../../core/collections/person-records.js'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createEndSubject } from '../../core/oauth/subjects/subject-end.js'
import type { Log } from '../../core/observe/log.js'
import { SoftwareAuthenticator } from '../support/clients/software-authenticator.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import type { Config } from '../../config/schema.js'
import { authorizeUrl, collectionsOf } from '../support/forge/mint.js'
import { readSection, visitAccount } from '../support/server/account-visitor.js'
import { passkeySetup, withPasskeys, withTotp } from '../support/server/passkey-server.js'
import { addPeople, passwordFields } from '../support/server/password-form.js'
import { followLink, issueLink, linkFields } from '../support/server/recovery-link.js'
import { askSilently } from '../support/server/opened.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'
import { failingStore, inBothRoles, type Faults } from '../support/stores/failing-store.js'
import { openTestRecords } from '../support/stores/test-stores.js'

const bob = { username: 'bob', password: 'a password of Bob alone', sub: 'bob-1' }

describe('/recovery', () => {
  const keep = disposeAfterAll()
  const faults: Faults = new Map()
  const lines: string[] = []
  const note = (...entry: unknown[]): void => void lines.push(JSON.stringify(entry))
  const log: Log = { debug: note, info: note, warn: note, error: note }
  let server: TestServer
  let now = Date.now()
  const clock = () => now
  beforeAll(async () => {
    server = keep(
      await startServer({
        ...{ clock, log, doubles: { stores: inBothRoles(failingStore(faults)) } },
        configure: (written) => withTotp(withPasskeys(written)),
      }),
    )
    await addPeople(server.directory, bob)
  })
  afterEach(() => faults.clear())

  const issue = (of = { subject: bob.sub, username: bob.username }, ttlSeconds = 3600) =>
    issueLink(server, of, { ttlSeconds, clock })
  const enter = async (of?: { subject: string; username: string }) => {
    const visitor = visitAccount(server.issuer)
    const link = await issue(of)
    return { ...visitor, link, ...(await followLink(visitor, link)) }
  }
  const events = async (name: string) => (await server.audit()).filter(({ event }) => event === name)
  const messageOf = (html: string): string => /<p class="lead" role="alert">(.*?)<\/p>/.exec(html)?.[1] ?? ''
  const isOver = { status: 404, text: expect.stringContaining('used, has expired or is incomplete') as string }

  it('SI61 has one answer for links that were used, are over, cut short, of another person, or unknown', async () => {
    const visitor = visitAccount(server.issuer)
    const late = await issue(undefined, 60)
    now += 61_000
    const { link: used, form } = await enter()
    const good = await issue({ subject, username: 'alice' })
    const [, secret = ''] = good.split('.').slice(-2)
    const bad = [late, used, good.slice(0, -1), `${good}x`]
    const others = ['', 'x', `${'a'.repeat(43)}.${secret}`].map((value) => `${server.issuer}/recovery?link=${value}`)
    for (const link of [...bad, ...others, `${server.issuer}/recovery`]) {
      const { status, html } = await visitor.page(link)
      expect({ status, text: messageOf(html) }, link).toEqual(isOver)
    }
    const again = await visitor.page('/recovery', { method: 'POST', body: new URLSearchParams(form) })
    expect({ status: again.status, text: messageOf(again.html) }).toEqual(isOver)
    // The secret of one, with the person of another.
    const fresh = await issue()
    expect((await visitor.page(fresh.slice(0, -43) + good.slice(-43))).status).toBe(404)
    for (const link of [good, fresh]) expect((await visitor.page(link)).status).toBe(200)
    expect((await events('account.recovery_refused')).map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['the link is unknown or over', 'the link was used', 'the link is malformed']),
    )
  })

  it('SI62 uses nothing up by GET or HEAD, no matter who asks', async () => {
    const link = await issue()
    for (let asked = 0; asked < 3; asked++) {
      expect((await fetch(link, { method: 'HEAD' })).status).toBe(200)
      const { status, headers } = await fetch(link)
      expect({ status, cache: headers.get('cache-control'), referrer: headers.get('referrer-policy') }).toEqual({
        ...{ status: 200, cache: 'no-store', referrer: 'no-referrer' },
      })
    }
    expect((await followLink(visitAccount(server.issuer), link)).html).toContain('id="recovery"')
  })

  it('SI64 opens nothing by the form of another browser, of another link, or of none, and uses nothing up', async () => {
    const link = await issue()
    const [mine, theirs] = [visitAccount(server.issuer), visitAccount(server.issuer)]
    const form = linkFields((await mine.page(link)).html)
    const foreign = linkFields((await theirs.page(link)).html)
    const other = linkFields((await mine.page(await issue({ subject, username: 'alice' }))).html)
    for (const csrf of [foreign['csrf'], other['csrf'], '', undefined]) {
      const body = new URLSearchParams({ link: form['link'] ?? '', ...(csrf !== undefined && { csrf }) })
      expect(await mine.page('/recovery', { method: 'POST', body })).toMatchObject({ status: 403 })
    }
    const bare = await fetch(`${server.issuer}/recovery`, { method: 'POST', body: new URLSearchParams(form) })
    expect(bare.status).toBe(403)
    expect((await followLink(mine, link)).status).toBe(200)
  })

  it('SI65 signs nobody in: it is good for three parts of /account, and for nothing else', async () => {
    const { agent, page, post, html } = await enter()
    expect(html).not.toContain('id="sessions"')
    expect(html).not.toContain('id="applications"')
    for (const part of ['sessions', 'applications']) {
      expect((await page(`/account/${part}`)).status).toBe(404)
      expect((await post(part, { action: 'end_others', csrf: readSection(html, 'passkeys').csrf })).status).toBe(404)
    }
    expect(await askSilently(server.issuer, agent)).toBe('login_required')
    const asked = await agent.follow(authorizeUrl(server.issuer))
    expect(await asked.response.text()).toContain('id="login-submit"')
    // Its cookie is no session.
    const value = agent.cookies.get('signet-recovery')?.value ?? ''
    expect(value).toHaveLength(43)
    const forger = visitAccount(server.issuer)
    forger.agent.setCookie('signet-session', value)
    expect((await forger.page()).html).toContain('id="login-submit"')
    expect(await askSilently(server.issuer, forger.agent)).toBe('login_required')
    // And a session is no recovery.
    await forger.signIn(person)
    const session = forger.agent.cookies.get('signet-session')?.value ?? ''
    const thief = visitAccount(server.issuer)
    thief.agent.setCookie('signet-recovery', session)
    expect((await thief.page()).html).toContain('id="login-submit"')
    // Nor is the form of one section that of another, or of another recovery.
    const { csrf } = readSection((await page('/account/password')).html, 'password')
    expect((await post('totp', { csrf, action: 'remove' })).status).toBe(403)
    const second = await enter()
    expect((await second.post('password', { csrf, ...passwordFields('', 'another good password') })).status).toBe(403)
  })

  it('SI68 ends after a quarter of an hour, or at the next sign-in there', async () => {
    const late = await enter()
    now += 899_000
    expect((await late.page()).html).toContain('id="recovery"')
    now += 2000
    expect((await late.page()).html).toContain('id="login-submit"')
    const { csrf } = readSection(late.html, 'passkeys')
    expect((await late.post('passkeys', { csrf, action: 'remove', factor: 'x' })).html).toContain('id="login-submit"')
    const visitor = await enter()
    const { html, url } = await visitor.page('/account?account=other')
    await visitor.agent.submit(url, html, person)
    expect((await visitor.page()).html).toContain('Alice Adams')
    expect(visitor.agent.cookies.has('signet-recovery')).toBe(false)
  })

  it('SI66 ends with what the person had for as long as a link can be good, however short everything else is', async () => {
    const seconds = { session_ttl_secs: 60, device_code_ttl_secs: 60, refresh_token_absolute_ttl_secs: 60 }
    const tokens = { access_token_ttl_secs: 60, id_token_ttl_secs: 60, resources: [], clock_tolerance_secs: 0 }
    const link = await issue(undefined, 86_400)
    await using records = await openTestRecords(join(server.directory, 'store'), clock)
    const { revocations } = collectionsOf(records)
    const lifetimeSeconds = subjectLifetime({ ...seconds, ...tokens } as unknown as Config)
    await createEndSubject({ revocations, clock, lifetimeSeconds, notifyClients: async () => undefined })(bob.sub)
    now += 7_200_000
    expect((await visitAccount(server.issuer).page(link)).status).toBe(404)
  })

  it('adds a passkey and removes what was lost, and every line names the recovery', async () => {
    const { page, post } = await enter()
    const { fields, options } = passkeySetup((await page('/account/passkeys')).html)
    const answer = new SoftwareAuthenticator(server.issuer).register(options)
    const added = await post('passkeys', { ...fields, action: 'add', name: 'Phone', answer })
    const shown = readSection(added.html, 'passkeys')
    expect(shown).toMatchObject({ rows: ['Phone'], notice: expect.stringContaining('added') })
    const [factor = ''] = shown.values('factor')
    const removed = await post('passkeys', { csrf: shown.csrf, action: 'remove', factor })
    expect(readSection(removed.html, 'passkeys').rows).toEqual([])
    expect((await page('/account/totp')).html).toContain('id="totp-secret"')
    const [{ sid } = {}] = (await events('account.recovery_started')).slice(-1)
    for (const name of ['account.factor_added', 'account.factor_removed'])
      expect((await events(name)).at(-1)).toMatchObject({ sub: bob.sub, by_sid: sid, recovery: true, factor })
  })

  it('has no form for the password of an account of the configuration, and refuses one', async () => {
    const { page, post } = await enter({ subject, username: 'alice' })
    const part = readSection((await page('/account/password')).html, 'password')
    expect(part.text).toContain('Signet sets the password')
    const csrf = readSection((await page()).html, 'password').csrf
    expect(await post('password', { csrf, ...passwordFields('', 'another good password') })).toMatchObject({
      status: csrf === '' ? 403 : 400,
    })
    expect((await visitAccount(server.issuer).signIn(person)).html).toContain('This browser')
  })

  it('forgets the guesses at the password that was forgotten', async () => {
    for (let guess = 0; guess < 8; guess++)
      await visitAccount(server.issuer).signIn({ ...bob, password: 'a guess at the password' })
    expect((await visitAccount(server.issuer).signIn(bob)).status).toBe(429)
    const { page, post } = await enter()
    const { csrf } = readSection((await page('/account/password')).html, 'password')
    await post('password', { csrf, ...passwordFields('', bob.password) })
    now += 2000
    expect((await visitAccount(server.issuer).signIn(bob)).html).toContain('This browser')
  })

  it.each(['recovery_links.find', 'recovery_sessions.put', 'recovery_links.update', 'account_subjects.find'])(
    'SI67 burns no link while %s fails',
    async (verb) => {
      const link = await issue()
      const visitor = visitAccount(server.issuer)
      const form = linkFields((await visitor.page(link)).html)
      faults.set(verb, 'before')
      const answer = await visitor.page('/recovery', { method: 'POST', body: new URLSearchParams(form) })
      expect(answer).toMatchObject({ status: 503, html: expect.stringContaining('Account error') })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      faults.clear()
      const again = await visitor.page('/recovery', { method: 'POST', body: new URLSearchParams(form) })
      expect(again.html).toContain('id="recovery"')
    },
  )

  it.each(['recovery_sessions.find', 'accounts.update', 'revocations.revokeBefore'])(
    'SI67 loses no recovery while %s fails, and the person can try again',
    async (verb) => {
      const { page, post } = await enter()
      const { csrf } = readSection((await page('/account/password')).html, 'password')
      const form = { csrf, ...passwordFields('', 'another good password') }
      faults.set(verb, 'before')
      expect(await post('password', form)).toMatchObject({ status: 503 })
      faults.clear()
      expect(readSection((await post('password', form)).html, 'password').notice).toContain('has been changed')
    },
  )

  it('SI69 leaves its value in no log, audit line or metric, and sends it nowhere', async () => {
    const { link, agent } = await enter()
    const value = new URL(link).searchParams.get('link') ?? ''
    await agent.fetch(`${server.issuer}/recovery/?link=${value}`)
    await agent.fetch(link, { method: 'PUT' })
    await agent.fetch(link)
    const metrics = await (await fetch(`${server.admin}/metrics`)).text()
    const cookie = agent.cookies.get('signet-recovery')?.value ?? ''
    const written = [lines.join('\n'), JSON.stringify(await server.audit()), metrics]
    for (const text of written)
      for (const secret of [value.split('.')[1] ?? '', cookie]) {
        expect(secret).toHaveLength(43)
        expect(text).not.toContain(secret)
      }
    expect(lines.length).toBeGreaterThan(0)
  })
})
