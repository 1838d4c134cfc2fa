import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SoftwareAuthenticator } from '../support/clients/software-authenticator.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { readSection, visitAccount } from '../support/server/account-visitor.js'
import { passkeySetup, withPasskeys } from '../support/server/passkey-server.js'
import { addPeople } from '../support/server/password-form.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'

const bob = { username: 'bob', password: 'a password of Bob alone', sub: 'bob-1' }

let server: TestServer
let now = Date.now()
beforeAll(async () => {
  server = await startServer({ configure: withPasskeys, clock: () => now })
  await addPeople(server.directory, bob)
})
afterAll(() => server[Symbol.asyncDispose]())

const open = async (who = person) => {
  const visitor = visitAccount(server.issuer, new UserAgent())
  await visitor.signIn(who)
  const part = async () => passkeySetup((await visitor.page('/account/passkeys')).html)
  return { ...visitor, part }
}

const events = async (name: string) => (await server.audit()).filter(({ event }) => event === name)

describe('/account/passkeys', () => {
  it('adds, names and removes passkeys, and the audit log says so', async () => {
    const { part, post, page } = await open()
    const { fields, options } = await part()
    const authenticator = new SoftwareAuthenticator(server.issuer)
    const answer = authenticator.register(options)
    const added = await post('passkeys', { ...fields, action: 'add', name: '<b>Laptop</b>', answer })
    const shown = readSection(added.html, 'passkeys')
    expect({ status: added.status, rows: shown.rows, notice: shown.notice }).toEqual({
      ...{ status: 200, rows: ['&lt;b&gt;Laptop&lt;/b&gt;'], notice: expect.stringContaining('added') },
    })
    const [id = ''] = shown.values('factor')
    const act = (action: string, more = {}) => post('passkeys', { csrf: shown.csrf, action, factor: id, ...more })
    const renamed = await act('rename', { name: 'Work' })
    expect(readSection(renamed.html, 'passkeys').rows).toEqual(['Work'])
    const again = await part()
    const known = await post('passkeys', {
      ...again.fields,
      action: 'add',
      answer: authenticator.register(again.options),
    })
    expect({ status: known.status, text: readSection(known.html, 'passkeys').text }).toEqual({
      ...{ status: 400, text: expect.stringContaining('already has a passkey') },
    })
    const removed = await act('remove')
    expect(readSection(removed.html, 'passkeys')).toMatchObject({ rows: [], notice: 'Passkey removed.' })
    expect(readSection((await act('remove')).html, 'passkeys').notice).toContain('already')
    expect(readSection((await page()).html, 'passkeys').rows).toEqual([])
    const trail = { sub: subject, kind: 'passkey', factor: id, by_sid: expect.any(String) }
    expect(await events('account.factor_added')).toEqual([expect.objectContaining(trail)])
    expect(await events('account.factor_removed')).toEqual([expect.objectContaining(trail)])
  })

  it('SI55 refuses a challenge that was used, of another session, or of nobody', async () => {
    const [alice, bobs] = [await open(), await open(bob)]
    const { fields, options } = await alice.part()
    const send = (more: Record<string, string>) => alice.post('passkeys', { ...fields, action: 'add', ...more })
    const register = () => new SoftwareAuthenticator(server.issuer).register(options)
    const foreign = await bobs.part()
    for (const challenge of [foreign.fields.challenge, 'x', ''])
      expect(await send({ challenge, answer: register() })).toMatchObject({ status: 400 })
    // As a page of somebody else would have the person answer its own challenge.
    const other = await bobs.part()
    const answered = new SoftwareAuthenticator(server.issuer).register(other.options)
    expect(await send({ challenge: other.fields.challenge, answer: answered })).toMatchObject({ status: 400 })
    // It was used up where nothing came of it.
    expect(await send({ answer: new SoftwareAuthenticator('https://evil.example').register(options) })).toMatchObject({
      ...{ status: 400, html: expect.stringContaining('was not added') },
    })
    expect(await send({ answer: register() })).toMatchObject({ status: 400 })
    expect(readSection((await alice.page()).html, 'passkeys').rows).toEqual([])
    const refused = await events('account.refused')
    expect(refused.length).toBeGreaterThan(4)
    expect(refused.at(-1)).toMatchObject({ sub: subject, reason: expect.stringContaining('challenge') })
  })

  it('SI58 changes nothing of another person, and nothing without a recent sign-in', async () => {
    const [alice, bobs] = [await open(), await open(bob)]
    const { fields, options } = await alice.part()
    const answer = new SoftwareAuthenticator(server.issuer).register(options)
    const added = await alice.post('passkeys', { ...fields, action: 'add', name: 'Phone', answer })
    const [factor = ''] = readSection(added.html, 'passkeys').values('factor')
    const { csrf } = (await bobs.part()).fields
    for (const action of ['rename', 'remove'])
      expect(
        readSection((await bobs.post('passkeys', { csrf, action, factor, name: 'x' })).html, 'passkeys'),
      ).toMatchObject({
        ...{ rows: [], notice: expect.stringContaining('already') },
      })
    expect((await bobs.post('passkeys', { csrf: fields.csrf, action: 'remove', factor })).status).toBe(403)
    now += 700_000
    for (const action of ['remove', 'rename', 'add'])
      expect((await alice.post('passkeys', { csrf: fields.csrf, action, factor, name: 'x' })).url.pathname).toMatch(
        /login$/,
      )
    expect((await alice.page('/account/passkeys')).url.pathname).toMatch(/login$/)
    expect(readSection((await alice.page('/account')).html, 'passkeys').rows).toEqual(['Phone'])
  })
})
