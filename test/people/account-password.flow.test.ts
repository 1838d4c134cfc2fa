import { beforeAll, describe, expect, it } from 'vitest'
import { openLogoutReceiver } from '../support/clients/logout-receiver.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { freePort } from '../support/free-port.js'
import { visitAccount } from '../support/server/account-visitor.js'
import { alive, askSilently, openAll, over, redeemLeft, stateOf, withEverything } from '../support/server/opened.js'
import { addPeople, changePassword, passwordFields } from '../support/server/password-form.js'
import { prepareRestarts, type ReloadServer } from '../support/server/reloading.js'
import { person } from '../support/server/server.js'

const bob = { username: 'bob', password: 'a password of Bob alone', sub: 'bob-1' }
const carol = { username: 'carol', password: 'a password of Carol alone', sub: 'carol-1' }
const next = 'four words that nobody knows'
const changed =
  'Your password has been changed. You have been signed out everywhere else, and no application has access anymore.'

describe('a new password at /account', () => {
  const keep = disposeAfterAll()
  let server: ReloadServer
  let receiver: Awaited<ReturnType<typeof openLogoutReceiver>>
  /** Where the second replica answers. */
  let there: string
  let offset = 0
  beforeAll(async () => {
    receiver = await openLogoutReceiver(keep)
    const deployment = keep(
      await prepareRestarts({
        clock: () => Date.now() + offset,
        configure: (written) => {
          const all = withEverything(written)
          const clients = all['clients'] as { client_id: string }[]
          return {
            ...all,
            outbound: { allow_private_addresses: true },
            clients: clients.map((one) =>
              one.client_id === 'web' ? { ...one, backchannel_logout_uri: receiver.uri } : one,
            ),
          }
        },
      }),
    )
    server = keep(await deployment.start())
    const port = await freePort()
    there = `http://127.0.0.1:${port}`
    await deployment.edit((written) => ({ ...written, listen: { host: '127.0.0.1', port } }))
    keep(await deployment.start())
    await addPeople(server.directory, bob, carol)
  })

  it('AC13 ends what the old one opened, on every replica at once; this browser stays signed in, and clients are notified', async () => {
    const opened = await openAll(server.issuer, bob)
    const other = await openAll(server.issuer, person)
    const here = visitAccount(server.issuer)
    await here.signIn(bob)
    expect(await stateOf(there, opened)).toEqual(alive)

    const { status, url, section } = await changePassword(here, bob.password, next)
    expect([status, url.pathname, url.hash, section.notice]).toEqual([200, '/account', '#password', changed])
    expect(await stateOf(there, opened)).toEqual(over)
    expect(await redeemLeft(there, opened)).toEqual(['invalid_grant', 'invalid_grant'])
    expect((await visitAccount(server.issuer, opened.agent).page()).html).toContain('id="login-submit"')
    for (const at of [server.issuer, there]) {
      expect((await visitAccount(at, here.agent).page()).html).toContain('This browser')
      expect(await askSilently(at, here.agent)).toBe('code')
    }
    expect(await stateOf(server.issuer, other)).toEqual(alive)

    const trail = await server.audit()
    const line = trail.findLast(({ event }) => event === 'account.password_changed')
    expect(line).toMatchObject({
      sub: 'bob-1',
      by_sid: expect.any(String) as string,
      sid: expect.any(String) as string,
    })
    expect(line?.['sid']).not.toBe(line?.['by_sid'])
    for (const secret of [bob.password, next]) expect(JSON.stringify(trail)).not.toContain(secret)

    const sids = trail
      .filter(({ event, sub }) => event === 'login.succeeded' && sub === 'bob-1')
      .map(({ sid }) => sid)
      .filter((sid) => sid !== line?.['by_sid'])
    const heard = () => receiver.claims().map(({ sid }) => sid)
    await expect.poll(heard).toEqual(sids)
    expect(await receiver.verify(receiver.tokens()[0], server.issuer, 'web')).toMatchObject({ sub: 'bob-1' })
  })

  it('is used from then on', async () => {
    const elsewhere = visitAccount(server.issuer)
    const refused = await elsewhere.signIn(bob)
    expect([refused.status, refused.html]).toEqual([403, expect.stringContaining('Incorrect username or password.')])
    expect((await elsewhere.signIn({ ...bob, password: next })).html).toContain('This browser')
    expect(await stateOf(server.issuer, await openAll(server.issuer, { ...bob, password: next }))).toEqual(alive)
  })

  it('AC07 is asked for after a sign-in of the last ten minutes alone', async () => {
    const here = visitAccount(server.issuer)
    await here.signIn(carol)
    const first = await here.page('/account/password')
    const csrf = /name="csrf" value="([^"]+)"/.exec(first.html.slice(first.html.indexOf('id="password"')))?.[1] ?? ''
    offset += 11 * 60_000
    const asked = await here.post('password', { csrf, ...passwordFields(carol.password, next) })
    for (const { html } of [asked, await here.page('/account/password')]) expect(html).toContain('to confirm it’s you')
    expect((await here.page()).html).toContain('id="password-open"')
    const back = await here.agent.submit(asked.url, asked.html, { ...carol })
    expect(back.url.pathname).toBe('/account/password')
    expect((await changePassword(here, carol.password, next)).section.notice).toBe(changed)
  })
})
