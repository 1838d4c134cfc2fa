import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { createDevice, doublePlugin } from '../support/clients/attestation.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { readSection, visitAccount, type AccountVisitor } from '../support/server/account-visitor.js'
import { addPeople, changePassword, passwordFields } from '../support/server/password-form.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'
import { failingStore, inBothRoles, type Faults } from '../support/stores/failing-store.js'

describe('/account while the store is down', () => {
  const keep = disposeAfterAll()
  const faults: Faults = new Map()
  let server: TestServer
  beforeAll(async () => {
    const plugins = [doublePlugin({ name: 'account-outage' }), { use: 'plugins/attestation/registry' }]
    server = keep(
      await startServer({
        log: noLog,
        doubles: { stores: inBothRoles(failingStore(faults)) },
        configure: (written) => ({
          ...written,
          attestation: {},
          plugins: [...(written['plugins'] as object[]), ...plugins],
        }),
      }),
    )
  })
  afterEach(() => faults.clear())

  const enter = async (): Promise<AccountVisitor> => {
    const visitor = visitAccount(server.issuer, new UserAgent())
    await visitor.signIn(person)
    return visitor
  }
  const down = (verbs: readonly string[]): void => {
    faults.clear()
    for (const verb of verbs) faults.set(verb, 'before')
  }
  const outage = { status: 503, html: expect.stringContaining('Account error') as string }

  it.each([
    '*',
    'sessions.find',
    'session_index.list',
    'revocations.endedBefore',
    'consents.list',
    'principal_index.list',
  ])('SF01 shows an outage of %s as one, and signs nobody out by it', async (verb) => {
    const here = await enter()
    down([verb])
    const answer = await here.page()
    expect(answer).toMatchObject(outage)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    faults.clear()
    expect((await here.page()).html).toContain('Alice Adams')
  })

  it('SF01 renews devices while it cannot note it, and never says that one was revoked when that failed', async () => {
    const here = await enter()
    const device = await createDevice(server.issuer, { subject })
    const attestation = await device.attest()
    down(['principal_index.put'])
    const renewed = await device.renew(attestation)
    const { csrf, values } = await here.section('devices')
    const form = { csrf, action: 'revoke', device: values('device')[0] ?? '' }
    for (const verb of ['revoked_principals.put', 'principal_index.find']) {
      down([verb])
      expect(await here.post('devices', form)).toMatchObject(outage)
    }
    faults.clear()
    expect(await device.renew(renewed)).toEqual(expect.any(String))
    const again = await here.post('devices', form)
    expect(readSection(again.html, 'devices').notice).toBe('Device revoked.')
  })

  it.each([
    ...['consents.find', 'consents.remove', 'grant_index.list', 'grant_index.remove'],
    ...['revocations.revokeBefore', 'revocations.revoke'],
  ])('SF01 never says that access was withdrawn when %s failed; the next try finishes and records it', async (verb) => {
    const here = await enter()
    await here.agent.authorize(authorizeUrl(server.issuer), person)
    const { csrf } = await here.section('applications')
    const form = { csrf, action: 'withdraw', client_id: 'web' }
    const recorded = async () =>
      (await server.audit())
        .map(({ event }) => event)
        .filter((event) => event === 'grant.revoked' || event === 'consent.withdrawn')
    const before = await recorded()
    down([verb])
    expect(await here.post('applications', form)).toMatchObject(outage)
    faults.clear()
    const again = await here.post('applications', form)
    expect(readSection(again.html, 'applications')).toMatchObject({
      notice: 'The application no longer has access.',
      rows: [],
    })
    expect((await recorded()).slice(before.length)).toEqual(['consent.withdrawn', 'grant.revoked'])
    const third = await here.post('applications', form)
    expect(readSection(third.html, 'applications').notice).toBe('That application doesn’t have access.')
  })

  it.each([
    // Nothing has happened yet.
    ['account_subjects.find', true],
    ['revocations.endedBefore', true],
    ['revocations.revokeBefore', true],
    // The sessions are over by then.
    ['accounts.update', false],
  ])('SF01 changes no password while %s fails, and the person can try again', async (verb, goesOn) => {
    const bob = { username: `bob-${verb}`, password: 'a password of Bob alone', sub: `bob-${verb}` }
    await addPeople(server.directory, bob)
    const here = visitAccount(server.issuer)
    const there = visitAccount(server.issuer)
    for (const visitor of [here, there]) await visitor.signIn(bob)
    const { csrf } = readSection((await here.page('/account/password')).html, 'password')
    const typed = ['a password of Bob alone', 'the next one of Bob alone'] as const
    down([verb])
    expect(await here.post('password', { csrf, ...passwordFields(...typed) })).toMatchObject(outage)
    faults.clear()
    expect((await there.page()).html.includes('id="login-submit"')).toBe(!goesOn)
    if (!goesOn) await here.signIn(bob)
    expect((await changePassword(here, ...typed)).section.notice).toContain('Your password has been changed.')
  })

  it('SF01 never says that a password was changed when the answer of the store was lost: then the new one signs in', async () => {
    const carol = { username: 'carol', password: 'a password of Carol alone', sub: 'carol-1' }
    await addPeople(server.directory, carol)
    const [here, there] = [visitAccount(server.issuer), visitAccount(server.issuer)]
    for (const visitor of [here, there]) await visitor.signIn(carol)
    const { csrf } = readSection((await here.page('/account/password')).html, 'password')
    faults.set('accounts.update', 'after')
    const form = { csrf, ...passwordFields(carol.password, 'the next one of Carol alone') }
    expect(await here.post('password', form)).toMatchObject(outage)
    faults.clear()
    expect((await there.page()).html).toContain('id="login-submit"')
    expect((await here.signIn({ ...carol, password: 'the next one of Carol alone' })).html).toContain('This browser')
  })

  it.each(['session_index.list', 'grant_index.list', 'sessions.remove'])(
    'SF01 never says that a session has ended when %s failed, and the person can try again',
    async (verb) => {
      const here = await enter()
      await here.send('sessions', { action: 'end_others' })
      const there = await enter()
      const { csrf, values } = await here.section('sessions')
      const [sid = ''] = values('sid')
      down([verb])
      expect(await here.post('sessions', { csrf, action: 'end', sid })).toMatchObject(outage)
      faults.clear()
      const again = await here.post('sessions', { csrf, action: 'end', sid })
      expect(readSection(again.html, 'sessions').notice).toBe('That browser has been signed out.')
      expect((await there.page()).html).toContain('id="login-submit"')
    },
  )
})
