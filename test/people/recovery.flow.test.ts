import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openAccountStore, removeAccount, setDisabled } from '../../core/interaction/accounts.js'
import { createRecoveryLinks } from '../../core/interaction/recovery/recovery-links.js'
import { createEndSubject } from '../../core/oauth/subjects/subject-end.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { collectionsOf } from '../support/forge/mint.js'
import { freePort } from '../support/free-port.js'
import { readSection, visitAccount } from '../support/server/account-visitor.js'
import { openAll } from '../support/server/opened.js'
import { addPeople, passwordFields } from '../support/server/password-form.js'
import { followLink, issueLink, linkFields } from '../support/server/recovery-link.js'
import { prepareRestarts, type ReloadServer } from '../support/server/reloading.js'
import { openTestRecords } from '../support/stores/test-stores.js'

const bob = { username: 'bob', password: 'a password of Bob alone', sub: 'bob-1' }
const next = 'the next one of Bob alone'

describe('a recovery link at two replicas', () => {
  const keep = disposeAfterAll()
  let server: ReloadServer
  let there: string
  beforeAll(async () => {
    const deployment = keep(await prepareRestarts())
    server = keep(await deployment.start())
    const port = await freePort()
    there = `http://127.0.0.1:${port}`
    await deployment.edit((written) => ({ ...written, listen: { host: '127.0.0.1', port } }))
    keep(await deployment.start())
    await addPeople(server.directory, bob)
  })

  const issue = () => issueLink(server, { subject: bob.sub, username: bob.username })
  const at = (link: string, place: string): string => link.replace(server.issuer, place)
  const events = async (name: string) => (await server.audit()).filter(({ event }) => event === name)

  it('SI63 opens one recovery of ten that come at once', async () => {
    const link = await issue()
    const before = (await events('account.recovery_started')).length
    const visitors = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const visitor = visitAccount(index % 2 === 0 ? server.issuer : there)
        const { html } = await visitor.page(at(link, index % 2 === 0 ? server.issuer : there))
        return { visitor, form: linkFields(html), place: index % 2 === 0 ? server.issuer : there }
      }),
    )
    const answers = await Promise.all(
      visitors.map(({ visitor, form, place }) =>
        visitor.agent.fetch(`${place}/recovery`, { method: 'POST', body: new URLSearchParams(form) }),
      ),
    )
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      303,
      ...Array.from({ length: 9 }, () => 404),
    ])
    const inside = await Promise.all(visitors.map(({ visitor }) => visitor.page()))
    expect(inside.filter(({ html }) => html.includes('id="recovery"'))).toHaveLength(1)
    expect((await events('account.recovery_started')).length - before).toBe(1)
  })

  it('SI61 is good for nothing once the person has a newer one', async () => {
    const [older, newer] = [await issue(), await issue()]
    const visitor = visitAccount(there)
    expect(await visitor.page(at(older, there))).toMatchObject({ status: 404 })
    expect((await visitor.page(at(newer, there))).status).toBe(200)
    // Nor when the newer one comes while the older one is used.
    await using records = await openTestRecords(join(server.directory, 'store'), Date.now)
    const { recoveryLinks: store, revocations } = collectionsOf(records)
    const links = createRecoveryLinks({ store, revocations, clock: Date.now })
    const redeem = (link: string) => links.redeem(new URL(link).searchParams.get('link') ?? '')
    expect([await redeem(older), await redeem(newer), await redeem(newer)]).toEqual([false, true, false])
  })

  it('SI66 ends with the account, and a recovery too; enabling it brings neither back', async () => {
    const visitor = visitAccount(server.issuer)
    await followLink(visitor, await issue())
    expect((await visitor.page()).html).toContain('id="recovery"')
    const link = await issue()
    await using records = await openTestRecords(join(server.directory, 'store'), Date.now)
    const { revocations } = collectionsOf(records)
    const tell = async () => undefined
    const end = createEndSubject({ revocations, clock: Date.now, lifetimeSeconds: 600, notifyClients: tell })
    for (const disabled of [true, false]) {
      await setDisabled(openAccountStore(records), { username: bob.username, disabled }, end)
      expect((await visitor.page()).html).toContain('id="login-submit"')
      expect(await visitor.page(link)).toMatchObject({ status: 404 })
      expect(await visitAccount(there).page(at(link, there))).toMatchObject({ status: 404 })
    }
    const last = await issue()
    expect((await visitor.page(last)).status).toBe(200)
    await end(bob.sub)
    expect(await visitor.page(last)).toMatchObject({ status: 404 })
    const gone = { username: 'gone', password: 'a password that nobody needs', sub: 'gone-1' }
    await addPeople(server.directory, gone)
    const ofGone = await issueLink(server, { subject: gone.sub })
    expect((await visitor.page(ofGone)).status).toBe(200)
    await removeAccount(openAccountStore(records), gone.username, end)
    expect(await visitor.page(ofGone)).toMatchObject({ status: 404 })
  })

  it('sets a password without the old one, which ends everything open, and the recovery continues until it is finished', async () => {
    const opened = await openAll(server.issuer, bob)
    const visitor = visitAccount(server.issuer)
    const link = await issue()
    await followLink(visitor, link)
    const elsewhere = visitAccount(there, visitor.agent)
    const { csrf, html } = readSection((await elsewhere.page('/account/password')).html, 'password')
    expect(html).not.toContain('current_password')
    const fields = passwordFields('', next)
    const short = await elsewhere.post('password', { csrf, ...fields, new_password: 'x', new_password_again: 'x' })
    expect(short).toMatchObject({ status: 400, html: expect.stringContaining('at least 8 characters') })
    const changed = await visitor.post('password', { csrf, ...fields })
    expect(readSection(changed.html, 'password').notice).toContain('Your password has been changed.')
    expect((await visitAccount(server.issuer, opened.agent).page()).html).toContain('id="login-submit"')
    expect((await visitor.page()).html).toContain('id="recovery"')
    const [, end = ''] = /recovery\/end">\s*<input[^>]*value="([^"]*)"/.exec((await visitor.page()).html) ?? []
    const over = await visitor.page('/recovery/end', { method: 'POST', body: new URLSearchParams({ csrf: end }) })
    expect(over.html).toContain('id="login-submit"')
    expect((await elsewhere.agent.fetch(`${there}/account`)).status).toBe(303)
    expect((await visitAccount(server.issuer).signIn({ ...bob, password: next })).html).toContain('This browser')
    const old = await visitAccount(server.issuer).signIn(bob)
    expect(old.html).toContain('id="login-submit"')
    const [{ sid } = {}] = (await events('account.recovery_started')).slice(-1)
    expect((await events('account.password_changed')).at(-1)).toMatchObject({
      ...{ sub: bob.sub, by_sid: sid, recovery: true },
    })
    expect((await events('account.recovery_ended')).at(-1)).toMatchObject({ sub: bob.sub, sid })
  })
})
