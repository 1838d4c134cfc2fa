import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { iso, key, kidOf, prepareRestarts, type Json, type ReloadServer } from '../support/server/reloading.js'
import { chaosNamed } from '../support/signers/chaos-signer/commands.js'

const module = fileURLToPath(new URL('../support/signers/chaos-signer/index.ts', import.meta.url))
const minute = 60_000
const start = Date.parse('2026-11-20T00:00:00Z')

const hsm = (kid: string, more: Json = {}): Json => key(kid, { signer: 'hsm', ref: kid, ...more })
const local = key('local-1')
const withKeys =
  (...keys: readonly Json[]) =>
  (written: Json): Json => ({ ...written, keys })

/** Two signers, one of which goes away. */
const prepare = async (...keys: readonly Json[]) => {
  const name = randomUUID()
  const time = { now: start }
  const deployment = await prepareRestarts({
    clock: () => time.now,
    log: noLog,
    configure: (written) => ({
      ...withKeys(...keys)(written),
      signers: { ...(written['signers'] as Json), hsm: { use: module, options: { name } } },
    }),
  })
  onTestFinished(() => deployment[Symbol.asyncDispose]())
  return { ...deployment, time, chaos: chaosNamed(name) }
}

const tokenOf = async (server: ReloadServer): Promise<string> =>
  ((await (await server.token()).json()) as { access_token: string }).access_token

const signs = async (server: ReloadServer): Promise<string> => kidOf(await server.token())

/** One that has signed with its HSM, and is restarted while that is away. */
const restartWithoutSigner = async () => {
  const { start, chaos, time } = await prepare(hsm('hsm-1'), local)
  const before = await start()
  const token = await tokenOf(before)
  await before[Symbol.asyncDispose]()
  time.now += 2 * minute
  chaos.tell({ opening: 'down' })
  return { server: await start(), token, chaos }
}

it('a start while a signer is away publishes its keys, believes its tokens, and has it sign when it is back', async () => {
  const { server: running, token, chaos } = await restartWithoutSigner()
  await using server = running
  expect(await server.kids()).toEqual(['hsm-1', 'local-1'])
  expect(await server.isActive(token)).toBe(true)
  expect(await signs(server)).toBe('local-1')
  // What was published all the while signs as soon as it can.
  chaos.tell({})
  await expect.poll(() => signs(server), { timeout: 20_000 }).toBe('hsm-1')
  expect(await server.isActive(token)).toBe(true)
})

it('another key behind the name of one that is away is not believed, and the old one still is', async () => {
  const { server: running, token, chaos } = await restartWithoutSigner()
  await using server = running
  const before = await (await fetch(`${server.issuer}/jwks.json`)).text()
  chaos.keys.delete('hsm-1')
  chaos.tell({})
  const trust = async () => (await fetch(`${server.admin}/metrics`)).text()
  await expect
    .poll(trust, { timeout: 20_000 })
    .toContain(`signet_key_trust{signer="hsm",kid="hsm-1",trust="refused",issuer="${server.issuer}"} 1`)
  expect(await (await fetch(`${server.issuer}/jwks.json`)).text()).toBe(before)
  expect(await server.isActive(token)).toBe(true)
  expect(await signs(server)).toBe('local-1')
})

it('a key that is published late signs an hour after that, and a restart does not forget it', async () => {
  const { start: begin, edit, chaos, time } = await prepare(local)
  await (await begin())[Symbol.asyncDispose]()
  time.now += 2 * minute
  chaos.tell({ opening: 'down' })
  await edit(withKeys(hsm('hsm-1'), local))
  {
    await using server = await begin()
    expect(await server.kids()).toEqual(['local-1'])
    time.now += 30 * minute
    chaos.tell({})
    await expect.poll(() => server.kids(), { timeout: 20_000 }).toEqual(['hsm-1', 'local-1'])
    await expect
      .poll(async () => (await server.audit()).filter(({ event, kid }) => event === 'key.published' && kid === 'hsm-1'))
      .toHaveLength(1)
    time.now += 59 * minute
    expect(await signs(server)).toBe('local-1')
    // It waits already: another change is not refused for it.
    await edit((written) => ({ ...written, accounts: [] }))
    expect((await server.reload()).status).toBe(200)
    expect(await signs(server)).toBe('local-1')
  }
  await using server = await begin()
  expect(await signs(server)).toBe('local-1')
  time.now += minute
  await expect.poll(() => signs(server), { timeout: 20_000 }).toBe('hsm-1')
})

it('a first start whose only signer is away: nobody keeps the empty key set, and nobody waits for the hour', async () => {
  const { start: begin, chaos, time } = await prepare(hsm('hsm-1'), hsm('hsm-2'))
  chaos.tell({ opening: 'down' })
  await using server = await begin()
  const caching = async () => (await fetch(`${server.issuer}/jwks.json`)).headers.get('cache-control')
  expect(await caching()).toBe('public, max-age=0')
  time.now += 30 * minute
  chaos.tell({})
  await expect.poll(async () => (await server.token()).status, { timeout: 20_000 }).toBe(200)
  expect(await caching()).toBe('public, max-age=3600')
})

it.each(['since the start', 'since later'])('a reload goes through while a signer is away %s', async (since) => {
  const { start: begin, edit, chaos, time } = await prepare(hsm('hsm-1'))
  await (await begin())[Symbol.asyncDispose]()
  time.now += 2 * minute
  const away = { opening: 'down', fault: 'throttle' } as const
  if (since === 'since the start') chaos.tell(away)
  await using server = await begin()
  chaos.tell(away)
  expect((await server.token()).status).toBe(503)

  // A newly listed one has to work.
  await edit(withKeys(hsm('hsm-1'), hsm('hsm-2', { not_before: iso(time.now + 2 * 60 * minute) })))
  const problem = { path: 'keys[1]', message: expect.stringContaining('hsm-2 does not sign') }
  expect(await server.reload()).toMatchObject({ status: 400, body: { problems: [problem] } })
  await edit(withKeys(hsm('hsm-1'), key('spare', { allow_early: true })))
  expect(await server.reload()).toMatchObject({ status: 200, body: { changes: { keys: { added: ['spare'] } } } })
  expect(await server.kids()).toEqual(['hsm-1', 'spare'])
  expect(await signs(server)).toBe('spare')
  await edit((written) => ({ ...written, clients: (written['clients'] as Json[]).slice(-1) }))
  expect((await server.reload()).status).toBe(200)

  chaos.tell({})
  await expect.poll(() => signs(server), { timeout: 20_000 }).toBe('hsm-1')
})

it('a key whose signer signs, but cannot open it again, signs on after a reload', async () => {
  const { start: begin, edit, chaos } = await prepare(hsm('hsm-1'))
  await using server = await begin()
  chaos.tell({ opening: 'down' })
  await edit((written) => ({ ...written, accounts: [] }))
  expect((await server.reload()).status).toBe(200)
  expect(await signs(server)).toBe('hsm-1')
})

it('a key that its signer has refused for good does not stand in the way of a spare', async () => {
  const { start: begin, edit, chaos } = await prepare(hsm('hsm-1'))
  await using server = await begin()
  const token = await tokenOf(server)
  chaos.tell({ opening: 'refused', fault: 'refuse' })
  // Taking it away from one that works is an error.
  await edit((written) => ({ ...written, accounts: [] }))
  const problem = { path: 'keys[0]', message: 'hsm-1 is pending deletion' }
  expect(await server.reload()).toMatchObject({ status: 400, body: { problems: [problem] } })
  expect((await server.token()).status).toBe(503)
  await edit(withKeys(hsm('hsm-1'), key('spare', { allow_early: true })))
  expect((await server.reload()).status).toBe(200)
  expect(await signs(server)).toBe('spare')
  expect(await server.isActive(token)).toBe(true)
})
