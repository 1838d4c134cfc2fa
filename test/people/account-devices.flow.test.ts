import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { principalEntryId } from '../../core/attestation/principal-registry.js'
import { migrateStores } from '../../core/collections/store-schemas.js'
import { createDevice, doublePlugin } from '../support/clients/attestation.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { collectionsOf } from '../support/forge/mint.js'
import { readSection, visitAccount, type AccountVisitor } from '../support/server/account-visitor.js'
import { startFactorServer, type FactorServer } from '../support/server/factor-server.js'
import { person, startServer, subject } from '../support/server/server.js'
import { openTestRecords } from '../support/stores/test-stores.js'

const minutes = 60_000
const other = { username: 'bob', password: 'a password of Bob alone', sub: 'bob-1' }
const revoked = { status: 403, body: { error_code: 'PrincipalRevoked' } }

describe('devices at /account', () => {
  const keep = disposeAfterAll()
  let server: FactorServer
  beforeAll(async () => {
    server = keep(
      await startFactorServer(
        [doublePlugin({ name: 'account' }), { use: 'plugins/attestation/registry' }],
        (written) => ({ ...written, accounts: [...(written['accounts'] as object[]), other] }),
      ),
    )
  })

  const visit = async (who = person): Promise<AccountVisitor> => {
    const visitor = visitAccount(server.issuer, new UserAgent())
    await visitor.signIn(who)
    return visitor
  }
  const enrol = async (principal_id: string, of = subject, principal_type = 'device') => {
    const device = await createDevice(server.issuer, { subject: of, principal_id, principal_type })
    return { device, attestation: await device.attest() }
  }
  const records = () => openTestRecords(join(server.directory, 'store'), Date.now)
  const idOf = async (visitor: AccountVisitor, name: string) => {
    const rows = (await visitor.section('devices')).html.split('<li>')
    const row = rows.find((text) => text.includes(`<bdi>${name}</bdi>`)) ?? ''
    return /name="device" value="([^"]+)"/.exec(row)?.[1] ?? ''
  }

  it('AC09 lists who holds a key for the person, since when, and the last renewal', async () => {
    const here = await visit()
    expect((await here.section('devices')).text).toContain('No device holds a key for your account.')
    const { device, attestation } = await enrol('phone-1')
    await enrol('other-phone', other.sub)
    const before = await here.section('devices')
    expect(before.rows).toEqual(['phone-1 Device'])
    expect(before.text).toMatch(/Enrolled \d+ \w+ \d{4} at \d\d:\d\d UTC/)
    expect(before.text).not.toContain('Last renewed')
    server.later(5 * minutes)
    await device.renew(attestation)
    await enrol('<b>meter</b>', subject, 'service')
    const { html, rows } = await here.section('devices')
    expect(html).not.toContain('<b>meter')
    expect(rows.toSorted()).toEqual(['&lt;b&gt;meter&lt;/b&gt; Service', 'phone-1 Device'])
    expect((await here.section('devices')).text).toMatch(/Last renewed \d+ \w+ \d{4} at \d\d:\d\d UTC/)
  })

  it('revokes one, which can no longer renew', async () => {
    const [{ device, attestation }, spared] = [await enrol('phone-2'), await enrol('tablet')]
    const here = await visit()
    const done = await here.send('devices', { action: 'revoke', device: await idOf(here, 'phone-2') })
    expect(readSection(done.html, 'devices').notice).toBe('Device revoked.')
    expect(await device.reissue(attestation)).toMatchObject(revoked)
    expect(await device.enrol()).toMatchObject(revoked)
    expect(await spared.device.renew(spared.attestation)).toEqual(expect.any(String))
    const { text } = await here.section('devices')
    expect(text).toMatch(/phone-2 Device Enrolled [^R]* Revoked \d+/)
    expect(await server.audit()).toContainEqual(
      expect.objectContaining({
        ...{ event: 'principal.revoked', sub: subject, principal_id: 'phone-2', principal_type: 'device' },
        by_sid: expect.any(String),
      }),
    )
  })

  it('AC07 asks who has signed in a while ago to sign in once more, and does nothing before', async () => {
    const { device, attestation } = await enrol('phone-3')
    const here = await visit()
    const [id, { csrf }] = [await idOf(here, 'phone-3'), await here.section('devices')]
    server.later(11 * minutes)
    const asked = await here.post('devices', { csrf, action: 'revoke', device: id })
    expect(asked.html).toContain('to confirm it’s you')
    const renewed = await device.renew(attestation)
    const back = await here.agent.submit(asked.url, asked.html, { ...person })
    expect(back.url.pathname).toBe('/account/devices')
    await here.send('devices', { action: 'revoke', device: id })
    expect(await device.reissue(renewed)).toMatchObject(revoked)
  })

  it('AC03 answers for the device of another person, one that is revoked and an unknown one alike', async () => {
    const theirs = await enrol('their-phone', other.sub)
    const [here, there] = [await visit(), await visit(other)]
    await enrol('phone-4')
    const own = await idOf(here, 'phone-4')
    await here.send('devices', { action: 'revoke', device: own })
    await enrol('phone-5')
    for (const device of [await idOf(there, 'their-phone'), own, 'A'.repeat(43), '', 'x'.repeat(10_000), '__proto__']) {
      const { html, status } = await here.send('devices', { action: 'revoke', device })
      expect([status, readSection(html, 'devices').notice]).toEqual([200, 'The device was already revoked.'])
    }
    expect(await theirs.device.renew(theirs.attestation)).toEqual(expect.any(String))
  })

  it('finds what an earlier version enrolled, once it has renewed or the stores were migrated', async () => {
    const [{ device, attestation }] = [await enrol('old-1'), await enrol('old-2')]
    await using store = await records()
    const { principalIndex } = collectionsOf(store)
    for (const principalId of ['old-1', 'old-2'])
      await principalIndex.remove(principalEntryId({ subject, principalId, principalType: 'device' }))
    const here = await visit()
    const names = async () => (await here.section('devices')).rows.filter((row) => row.startsWith('old')).toSorted()
    expect(await names()).toEqual([])
    await device.renew(attestation)
    expect(await names()).toEqual(['old-1 Device'])
    await collectionsOf(store).migrations.remove('principal_index')
    const lines = await migrateStores({
      records: store,
      ephemeral: store,
      [Symbol.asyncDispose]: async () => undefined,
    })
    expect(lines).toContain('principal_index: 1 principals can be found by their subject')
    expect(await names()).toEqual(['old-1 Device', 'old-2 Device'])
  })

  it('has no such section without enrolment or a registry', async () => {
    const attestation = { attestation: {} }
    for (const [more, plugins] of [
      [{}, []],
      [attestation, [doublePlugin({ name: 'alone', status: true })]],
    ] as const) {
      await using bare = await startServer({
        configure: (written) => ({ ...written, ...more, plugins: [...(written['plugins'] as object[]), ...plugins] }),
      })
      const visitor = visitAccount(bare.issuer)
      await visitor.signIn(person)
      expect((await visitor.page()).html).not.toContain('id="devices"')
      expect((await visitor.page('/account/devices')).status).toBe(404)
    }
  })
})
