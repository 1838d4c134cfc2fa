import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openLogoutReceiver, ok } from '../support/clients/logout-receiver.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { person, startServer, subject, webClient, type TestServer } from '../support/server/server.js'
import { noAnswers } from '../support/server/site.js'

type Receiver = Awaited<ReturnType<typeof openLogoutReceiver>>

const implicit = { ...webClient, consent: 'implicit' }
const bob = { username: 'bob', password: 'another battery staple' }

describe('back-channel logout', () => {
  const keep = disposeAfterAll()
  const time = { ahead: 0 }
  let cli: CommandLine
  let server: TestServer
  let shop: Receiver
  let bank: Receiver
  let failing: Receiver
  beforeAll(async () => {
    cli = keep(await openCommandLine())
    ;[shop, bank, failing] = [
      await openLogoutReceiver(keep),
      await openLogoutReceiver(keep),
      await openLogoutReceiver(keep),
    ]
    server = keep(
      await startServer({
        clock: () => Date.now() + time.ahead,
        configure: (written) => ({
          ...written,
          outbound: { allow_private_addresses: true },
          clients: [
            implicit,
            { ...implicit, client_id: 'shop', backchannel_logout_uri: shop.uri },
            { ...implicit, client_id: 'bank', backchannel_logout_uri: `${bank.uri}?tenant=1` },
            { ...implicit, client_id: 'failing', backchannel_logout_uri: failing.uri },
          ],
        }),
      }),
    )
    const file = ['--config', join(server.directory, 'signet.yaml')]
    await cli.run(['accounts', 'add', 'bob', '--password-stdin', ...file], { input: bob.password })
  })

  const command = (...args: string[]) => cli.run([...args, '--config', join(server.directory, 'signet.yaml')])
  const open = (agent: UserAgent, client_id: string, more: Record<string, string> = {}, who = person) =>
    agent.authorize(authorizeUrl(server.issuer, { client_id, ...more }), who)
  const signOut = async (agent: UserAgent) => {
    const at = await agent.follow(`${server.issuer}/logout`)
    await agent.submit(at.url, await at.response.text(), {})
  }
  const events = async (name: string) => (await server.audit()).filter(({ event }) => event === name)
  /** Time goes on in steps until there was an attempt. */
  const attempts = (told: () => unknown[], count: number) =>
    expect
      .poll(() => {
        time.ahead += 3000
        return told()
      })
      .toHaveLength(count)
  const since = (receiver: Receiver) => {
    const before = receiver.site.asked.length
    return () => receiver.claims().slice(before)
  }

  it('notifies each client of a session once, and no other', async () => {
    const [toShop, toBank] = [since(shop), since(bank)]
    const [agent, elsewhere] = [new UserAgent(), new UserAgent()]
    for (const client of ['web', 'shop', 'shop', 'bank']) await open(agent, client)
    await open(agent, 'shop', { scope: 'openid offline_access', prompt: 'consent' })
    await open(elsewhere, 'web')
    await signOut(agent)

    await expect.poll(toShop).toHaveLength(1)
    await expect.poll(toBank).toHaveLength(1)
    const payload = await shop.verify(shop.tokens().at(-1), server.issuer, 'shop')
    const [{ sid } = {}] = await events('session.ended')
    expect(payload).toEqual({
      ...{ iss: server.issuer, aud: 'shop', sub: subject, sid, jti: expect.any(String) },
      ...{ iat: expect.any(Number), exp: Number(payload.iat) + 120 },
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    })
    const asked = bank.site.asked.at(-1)
    expect(asked).toMatchObject({ method: 'POST', path: '/logout?tenant=1' })
    expect(asked?.headers['content-type']).toBe('application/x-www-form-urlencoded')

    // What was due earlier has begun by then.
    await open(elsewhere, 'bank')
    await signOut(elsewhere)
    await expect.poll(toBank).toHaveLength(2)
    expect(toShop()).toHaveLength(1)
    const trail = { client_id: 'shop', sub: subject, sid, jti: payload.jti }
    await expect.poll(() => events('logout.delivered')).toContainEqual(expect.objectContaining(trail))
    expect(await events('logout.signed')).toContainEqual(
      expect.objectContaining({ ...trail, signatures: [expect.objectContaining({ purpose: 'logout_token' })] }),
    )
  })

  it.each([
    ['sessions', 'end', '--sub', subject],
    ['people', 'end', '--sub', subject],
    ['sessions', 'end', '--all'],
  ])('notifies them of a session that an operator ends: %s %s', async (...args) => {
    const told = since(shop)
    await open(new UserAgent(), 'shop')
    expect(await command(...args)).toMatchObject({ code: 0 })
    const { sid } = (await events('login.succeeded')).at(-1) ?? {}
    await expect.poll(() => told().filter((claims) => claims['sid'] === sid)).toHaveLength(1)
    expect(new Set(told().map(({ sid }) => sid)).size).toBe(told().length)
  })

  it('ends the sessions of everyone, and reports how many', async () => {
    await command('sessions', 'end', '--all')
    const agents = [new UserAgent(), new UserAgent(), new UserAgent()]
    const told = since(shop)
    for (const [index, agent] of agents.entries()) await open(agent, 'shop', {}, index === 0 ? bob : person)
    expect(await command('sessions', 'end', '--all', '--json')).toMatchObject({
      code: 0,
      stdout: `${JSON.stringify({ people: 2, sessions: 3 }, null, 2)}\n`,
    })
    await expect.poll(told).toHaveLength(3)
    for (const agent of agents)
      expect((await open(agent, 'web', { prompt: 'none' })).searchParams.get('error')).toBe('login_required')
    expect((await command('sessions', 'end', '--all')).stdout).toBe('Ended 0 sessions of 0 people\n')
  })

  it('ends sessions at a single client: people stay signed in, and other clients are not notified', async () => {
    const [toShop, toBank] = [since(shop), since(bank)]
    const [agent, other] = [new UserAgent(), new UserAgent()]
    for (const client of ['shop', 'bank']) await open(agent, client)
    await open(other, 'shop', {}, bob)
    expect(await command('sessions', 'end', '--client', 'shop')).toMatchObject({
      code: 0,
      stdout: 'Ended 2 sessions of 2 people\n',
    })
    expect(await command('sessions', 'end', '--client', 'web')).toMatchObject({
      code: 1,
      stderr: 'There is no such client with a backchannel_logout_uri.\n',
    })
    await expect.poll(toShop).toHaveLength(2)
    expect((await open(agent, 'web', { prompt: 'none' })).searchParams.get('code')).not.toBeNull()
    await signOut(agent)
    await expect.poll(toBank).toHaveLength(1)
    expect(toShop()).toHaveLength(2)
  })

  it('notifies them when an account is disabled', async () => {
    const told = since(shop)
    await open(new UserAgent(), 'shop', {}, bob)
    expect(await command('accounts', 'disable', 'bob')).toMatchObject({ code: 0 })
    await expect.poll(() => told().filter(({ sub }) => sub !== subject)).toHaveLength(1)
    await command('accounts', 'enable', 'bob')
  })

  it('LO09 tries three times within a minute, with one jti, and records that it gave up', async () => {
    const told = since(failing)
    failing.site.answer = noAnswers['answers 500'] ?? ok
    const agent = new UserAgent()
    await open(agent, 'failing')
    await signOut(agent)
    await expect.poll(told).toHaveLength(1)
    await attempts(told, 2)
    await attempts(told, 3)
    await expect
      .poll(() => events('logout.undelivered'))
      .toEqual([
        expect.objectContaining({ client_id: 'failing', reason: expect.stringMatching(/status 500/) as string }),
      ])
    expect(new Set(told().map(({ jti }) => jti)).size).toBe(1)
    time.ahead += 600_000
    // A later notice for another client proves that the outbox was looked into again.
    const later = since(shop)
    await open(agent, 'shop')
    await signOut(agent)
    await expect.poll(later).toHaveLength(1)
    expect(told()).toHaveLength(3)
  })

  it('LO10 retries a delivery that succeeds the second time', async () => {
    const told = since(failing)
    failing.site.answer = noAnswers['closes the connection'] ?? ok
    const agent = new UserAgent()
    await open(agent, 'failing')
    await signOut(agent)
    await expect.poll(told).toHaveLength(1)
    failing.site.answer = ok
    await attempts(told, 2)
    const [{ jti } = {}] = told()
    const delivered = async () => (await events('logout.delivered')).filter((line) => line['jti'] === jti)
    await expect.poll(delivered).toHaveLength(1)
  })

  it('LO11 a client that hangs delays no other', async () => {
    failing.site.answer = noAnswers['hangs'] ?? ok
    const [agents, told] = [Array.from({ length: 6 }, () => new UserAgent()), since(shop)]
    for (const agent of agents) {
      await open(agent, 'failing')
      await open(agent, 'shop')
    }
    for (const agent of agents) await signOut(agent)
    await expect.poll(told).toHaveLength(agents.length)
    failing.site.answer = ok
  })

  it('announces in the discovery document that clients are notified, with the session', async () => {
    const document = await fetch(`${server.issuer}/.well-known/openid-configuration`)
    expect(await document.json()).toMatchObject({
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    })
  })

  // The last one: commands know nothing of the time that has gone on.
  it('notifies them even after their tokens have expired, for as long as the session lasts', async () => {
    const told = since(shop)
    const agent = new UserAgent()
    await open(agent, 'shop')
    time.ahead += 13 * 86_400_000
    await signOut(agent)
    await expect.poll(told).toHaveLength(1)
  })
})
