import { beforeAll, describe, expect, it } from 'vitest'
import { createDevice, doublePlugin } from '../support/clients/attestation.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { visitAccount } from '../support/server/account-visitor.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'

const bob = { username: 'bob', password: 'a password of Bob alone', sub: 'bob-1' }

describe('the devices of a person at /account', () => {
  const keep = disposeAfterAll()
  let server: TestServer
  beforeAll(async () => {
    const plugins = [doublePlugin({ name: 'account-devices' }), { use: 'plugins/attestation/registry' }]
    server = keep(
      await startServer({
        configure: (written) => ({
          ...written,
          attestation: {},
          plugins: [...(written['plugins'] as object[]), ...plugins],
          accounts: [...(written['accounts'] as object[]), bob],
        }),
      }),
    )
  })

  const enrol = async (principal_id: string, principal_type = 'device', of = subject) => {
    const device = await createDevice(server.issuer, { subject: of, principal_id, principal_type })
    return { device, attestation: await device.attest() }
  }
  const signIn = async (who = person) => {
    const visitor = visitAccount(server.issuer)
    await visitor.signIn(who)
    return visitor
  }

  it('AC09 lists those of the person alone, with the last renewal, and revokes one for good', async () => {
    const phone = await enrol('phone-1')
    await enrol('<b>meter</b>', 'service')
    await enrol('phone-of-bob', 'device', bob.sub)
    await phone.device.renew(phone.attestation)

    const here = await signIn()
    const { rows, text, values, html } = await here.section('devices')
    expect(rows.toSorted()).toEqual(['&lt;b&gt;meter&lt;/b&gt; Service', 'phone-1 Device'])
    expect(html).not.toContain('<b>meter')
    expect(text.match(/Last renewed/g)).toHaveLength(1)

    const id = values('device')[rows.indexOf('phone-1 Device')] ?? ''
    expect((await here.section('devices')).values('device')).toContain(id)
    await here.send('devices', { action: 'revoke', device: id })
    const after = await here.section('devices')
    expect(after.text).toContain('Revoked')
    expect(after.values('device')).toHaveLength(1)
    const refused = await phone.device.reissue(phone.attestation)
    expect([refused.status, refused.body['error_code']]).toEqual([403, 'PrincipalRevoked'])
    expect(await server.audit()).toContainEqual(
      expect.objectContaining({
        event: 'principal.revoked',
        ...{ sub: subject, principal_id: 'phone-1', principal_type: 'device', by_sid: expect.any(String) },
      }),
    )
  })

  it('AC03 revokes nothing of another person, and answers as for what does not exist', async () => {
    const { device, attestation } = await enrol('tablet', 'device', bob.sub)
    const [id = ''] = (await (await signIn(bob)).section('devices')).values('device')
    expect(id).not.toBe('')
    const alice = await signIn()
    const answers = [id, 'A'.repeat(43), '__proto__', ''].map(async (one) => {
      const { status, html } = await alice.send('devices', { action: 'revoke', device: one })
      return [status, /class="notice"[^>]*>(.*?)</s.exec(html)?.[1]]
    })
    for (const answer of await Promise.all(answers))
      expect(answer).toEqual([200, expect.stringContaining('revoked already')])
    expect((await device.reissue(attestation)).status).toBe(200)
  })

  it('has no such part where nobody keeps who was enrolled', async () => {
    await using plain = await startServer()
    const visitor = visitAccount(plain.issuer)
    const { html } = await visitor.signIn(person)
    expect(html).not.toContain('id="devices"')
    expect((await visitor.page('/account/devices')).status).toBe(404)
  })
})
