import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { shopClient, otherShopClient } from '../support/clients/ciba.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { startCibaServer, type CibaServer } from '../support/server/ciba-server.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { addPeople, changePassword } from '../support/server/password-form.js'
import { person, subject } from '../support/server/server.js'
import { noAnswers, openSite, type Site } from '../support/server/site.js'
import { visitAs } from '../support/server/second-factor-visits.js'

const token = 'a-notification-token-of-the-shop-8d67dc78'
const jan = { username: 'jan', password: 'the password that was stolen', sub: 'jan-1' }

describe('requests that nobody has decided about', () => {
  const keep = disposeAfterAll()
  let cli: CommandLine
  let shop: Site
  let server: CibaServer
  beforeAll(async () => {
    cli = keep(await openCommandLine())
    shop = keep(await openSite(noAnswers['answers 204']))
    const pinged = {
      ...{ ...shopClient, client_id: 'pinged-shop', client_name: 'Pinged Shop' },
      backchannel_token_delivery_mode: 'ping',
      backchannel_client_notification_endpoint: `${shop.url}/ping`,
    }
    server = keep(
      await startCibaServer({}, (written) => ({
        ...written,
        outbound: { allow_private_addresses: true },
        clients: [shopClient, otherShopClient, pinged],
      })),
    )
    await addPeople(server.host.server.directory, jan)
  })
  beforeEach(() => {
    shop.asked.length = 0
  })

  const run = (args: readonly string[], input = '') =>
    cli.run([...args, '--config', join(server.host.server.directory, 'signet.yaml')], { input })
  const endPerson = (...more: string[]) => run(['people', 'end', '--sub', subject, ...more])
  const denials = async () => (await server.host.server.audit()).filter(({ event }) => event === 'backchannel.denied')
  const started = async () =>
    (await server.host.server.audit()).findLast(({ event }) => event === 'backchannel.started')?.['approval']
  /** A request of the client that is notified, and the hash by which the audit log knows it. */
  const askPinged = async (login_hint: string) => {
    const client = { client_id: 'pinged-shop', client_secret: shopClient.client_secret }
    const id = await server.start({ login_hint, client_notification_token: token, binding_message: 'W4SCT' }, client)
    return { id, approval: await started(), poll: () => server.poll(id, client) }
  }
  const expectPing = async (id: string) => {
    await expect
      .poll(
        () => {
          server.host.later(1000)
          return shop.asked.length
        },
        { interval: 100, timeout: 20_000 },
      )
      .toBe(1)
    expect(shop.asked[0]?.headers['authorization']).toBe(`Bearer ${token}`)
    expect(JSON.parse(String(shop.asked[0]?.body))).toEqual({ auth_req_id: id })
  }

  it('are counted by `people end --no-factors` and stay', async () => {
    const id = await server.start()
    const { stdout, stderr, code } = await endPerson('--no-factors')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`1 request for approval on a device of this person: signet people end --sub ${subject}`)
    server.rest()
    expect((await server.poll(id)).body).toMatchObject({ error: 'authorization_pending' })
    expect(JSON.parse((await endPerson('--no-factors', '--json')).stdout)).toMatchObject({ approvals_waiting: 1 })
    expect(await denials()).toEqual([])
  })

  it('end with `people end`: the client is refused, and no device can approve', async () => {
    const phone = await server.newPhone()
    const id = await server.start()
    const [first] = await phone.list()
    expect((await endPerson()).stdout).toContain('Ended 2 requests that waited for approval on a device')
    server.rest()
    expect((await server.poll(id)).body).toMatchObject({ error: 'access_denied' })
    expect(await phone.list()).toEqual([])
    expect((await phone.decide(first!)).status).toBe(409)
    expect(JSON.parse((await endPerson('--json')).stdout)).toMatchObject({ approvals_ended: 0 })
  })

  const commands: readonly (readonly [string, string, () => Promise<{ readonly code: number | null }>])[] = [
    ['people end', 'alice', () => endPerson()],
    [
      'set-password --factors',
      'jan',
      () => run(['accounts', 'set-password', 'jan', '--password-stdin', '--factors'], jan.password),
    ],
  ]
  it.each(commands)('%s notifies the client and records the denial as one of the person', async (_, who, end) => {
    const { id, approval, poll } = await askPinged(who)
    expect(await end()).toMatchObject({ code: 0 })
    expect((await denials()).at(-1)).toMatchObject({
      ...{ client_id: 'pinged-shop', sub: who === 'alice' ? subject : jan.sub, scope: 'openid profile', approval },
      ...{ resource: [server.issuer], by: { via: 'command', os_user: expect.any(String), host: expect.any(String) } },
    })
    await expectPing(id)
    expect((await poll()).body).toMatchObject({ error: 'access_denied' })
  })

  it('are listed at /account, and denied there', async () => {
    const visitor = await visitAs(server.issuer, person)
    expect((await visitor.section('approvals')).text).toContain('No requests are waiting for your answer.')
    const { id, approval, poll } = await askPinged('alice')
    const other = await server.start({}, otherShopClient)
    const shown = await visitor.section('approvals')
    expect(shown.rows).toEqual(['Pinged Shop', 'Other Shop'])
    expect(shown.text).toContain('W4SCT')
    expect(shown.text).toContain('See your profile, such as your name and picture')
    const [first = '', second = ''] = shown.values('approval')
    const { html } = await visitor.send('approvals', { action: 'deny', approval: first })
    expect(html).toContain('Request denied.')
    expect((await denials()).at(-1)).toMatchObject({
      ...{ client_id: 'pinged-shop', sub: subject, approval, request_id: expect.any(String) },
      ...{ by_sid: expect.any(String), address: '127.0.0.1' },
    })
    await expectPing(id)
    expect((await poll()).body).toMatchObject({ error: 'access_denied' })
    expect((await visitor.section('approvals')).values('approval')).toEqual([second])
    server.rest()
    expect((await server.poll(other, otherShopClient)).body).toMatchObject({ error: 'authorization_pending' })
    const before = (await denials()).length
    for (const gone of [first, 'x', '']) {
      const answer = await visitor.send('approvals', { action: 'deny', approval: gone })
      expect(answer.html).toContain('That request has already been answered or has expired.')
    }
    expect(await denials()).toHaveLength(before)
  })

  it('of another person cannot be denied', async () => {
    const { poll } = await askPinged('jan')
    const [approval = ''] = (await (await visitAs(server.issuer, jan)).section('approvals')).values('approval')
    const alice = await visitAs(server.issuer, person)
    const { html } = await alice.send('approvals', { action: 'deny', approval })
    expect(html).toContain('That request has already been answered or has expired.')
    expect((await poll()).body).toMatchObject({ error: 'authorization_pending' })
  })

  it('are named after a new password', async () => {
    const visitor = await visitAs(server.issuer, jan)
    const { html } = await changePassword(visitor, jan.password, 'four words that nobody knows')
    const [warning = ''] = /<div class="warning" id="still-waiting">.*?<\/div>/s.exec(html) ?? []
    expect(warning).toContain('These requests are still waiting for your answer on a device.')
    expect(warning).toContain('<a href="#approvals"><bdi>Pinged Shop</bdi></a>')
    expect(html).not.toContain('id="remaining"')
  })
})
