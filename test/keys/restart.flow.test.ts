import { createPrivateKey } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { examine } from '../../core/operate/doctor.js'
import type { KeyPublication } from '../../core/keys/lifecycle/publications.js'
import { noLog } from '../../core/observe/log.js'
import { loadPages } from '../../core/host/load-pages.js'
import { decode, forge } from '../support/forge/forge.js'
import { openTestRecords } from '../support/stores/test-stores.js'
import { iso, key, kidOf, prepareRestarts, type Json, type ReloadServer } from '../support/server/reloading.js'

const minute = 60_000
const hour = 60 * minute
const start = Date.parse('2026-11-20T00:00:00Z')
const withKeys =
  (...keys: readonly Json[]) =>
  (written: Json): Json => ({ ...written, keys })

const prepare = async (...keys: readonly Json[]) => {
  const time = { now: start }
  const warnings: string[] = []
  const deployment = await prepareRestarts({
    clock: () => time.now,
    log: {
      ...noLog,
      warn(message, fields) {
        if (message === 'configuration') warnings.push(JSON.stringify(fields))
      },
    },
    configure: withKeys(...keys),
  })
  onTestFinished(() => deployment[Symbol.asyncDispose]())
  const run = async <T>(use: (server: ReloadServer) => Promise<T>): Promise<T> => {
    warnings.length = 0
    await using server = await deployment.start()
    return await use(server)
  }
  return { ...deployment, time, warnings, run }
}

const signs = async (server: ReloadServer): Promise<string> => kidOf(await server.token())
const withdrawn = async (server: ReloadServer) =>
  (await server.audit())
    .filter(({ event }) => event === 'key.withdrawn')
    .map(({ kid, alg, signer }) => ({ kid, alg, signer }))
const b = { kid: 'b', alg: 'ES256', signer: 'local' }

it('a key that was removed by a restart is reported once, causes a warning, and waits when it is put back', async () => {
  const { edit, run, time, warnings } = await prepare(key('b'), key('a'))
  await run(async (server) => expect(await signs(server)).toBe('b'))
  time.now += 2 * minute
  await edit(withKeys(key('a')))
  await run(async (server) => expect(await withdrawn(server)).toEqual([b]))
  const message = `b has been removed, but tokens that it signed live until ${iso(time.now + hour + 10_000)}: give it a not_after in the future`
  expect(warnings).toEqual([JSON.stringify({ path: 'keys', message })])
  await run(async (server) => expect(await withdrawn(server)).toEqual([b]))
  expect(warnings).toEqual([])

  await edit(withKeys(key('b'), key('a')))
  await run(async (server) => expect(await signs(server)).toBe('a'))
  time.now += hour
  await run(async (server) => expect(await signs(server)).toBe('b'))
})

it('warns about an end that is too early, but not about a key that never signed or is gone', async () => {
  const next = key('next', { not_before: iso(start + 9 * hour) })
  const { edit, run, time, warnings } = await prepare(key('a'), key('old', { not_after: iso(start + minute) }), next)
  await run(async (server) => expect(await server.kids()).toEqual(['a', 'old', 'next']))
  time.now += 2 * hour
  await edit(withKeys(key('a')))
  await run(async (server) => expect(await withdrawn(server)).toMatchObject([{ kid: 'next' }]))
  expect(warnings).toEqual([])
  await edit(withKeys(key('c', { allow_early: true }), key('a', { not_after: iso(start) })))
  await run(async (server) => expect(await signs(server)).toBe('c'))
  expect(warnings).toEqual([expect.stringContaining('"message":"a would be published only until ')])
})

it('TK12 a token stays valid until it expires after its key loses the purpose, also over restarts', async () => {
  const { edit, run, time } = await prepare(key('a', { allow_early: true }))
  const narrow = key('a', { purposes: ['userinfo'], allow_early: true })
  const b = key('b', { allow_early: true })
  let token = ''
  await run(async (server) => {
    const { access_token } = (await (await server.token()).json()) as { access_token: string }
    token = access_token
    await edit(withKeys(b, narrow))
    expect((await server.reload()).status).toBe(200)
    expect(await signs(server)).toBe('b')
    expect(await server.isActive(token)).toBe(true)
  })
  for (let restart = 0; restart < 2; restart++)
    await run(async (server) => expect(await server.isActive(token)).toBe(true))
  time.now += 2 * hour
  await run(async (server) => {
    const pem = await readFile(join(server.directory, 'keys', 'a.pem'))
    const iat = time.now / 1000
    const claims = { ...decode(token, 1), jti: 'made.later', iat, exp: iat + 600 }
    const later = (kid: string, text: Buffer) => forge(createPrivateKey(text), { ...decode(token, 0), kid }, claims)
    expect(await server.isActive(later('a', pem))).toBe(false)
    const other = await readFile(join(server.directory, 'keys', 'b.pem'))
    expect(await server.isActive(later('b', other))).toBe(true)
  })
})

it('a replica that started with another file does not change what the others publish', async () => {
  const { edit, run, start: begin, time } = await prepare(key('b'), key('a'))
  let listen: unknown
  {
    await using running = await begin()
    await using store = await openTestRecords(join(running.directory, 'store'), () => time.now)
    const isWithdrawn = async () =>
      (await store.records<KeyPublication>('key_publications').find('b'))?.withdrawn !== undefined
    time.now += 2 * minute
    await edit((written) => {
      listen = written['listen']
      return { ...withKeys(key('a'))(written), listen: { host: '127.0.0.1', port: 0 } }
    })
    await run(async (other) => expect(await withdrawn(other)).toEqual([b]))
    expect(await isWithdrawn()).toBe(true)
    time.now += minute
    await expect.poll(isWithdrawn, { timeout: 20_000 }).toBe(false)
  }
  await edit((written) => ({ ...withKeys(key('b'), key('a'))(written), listen }))
  await run(async (server) => expect(await signs(server)).toBe('b'))
})

it('a removed key does not block another one with its name in the backend', async () => {
  const old = key('old', { ref: 'same.pem', not_after: iso(start + hour) })
  const { edit, run, start: begin, time } = await prepare(key('a'), old)
  const directory = await run((server) => Promise.resolve(server.directory))
  time.now += 4 * hour
  await rm(join(directory, 'keys', 'same.pem'))
  const fresh = key('fresh', { ref: 'same.pem', allow_early: true })
  await edit(withKeys(fresh, key('a'), old))
  await run(async (server) => expect(await signs(server)).toBe('fresh'))

  // One that is not gone is refused by its own name.
  await edit(withKeys(fresh, key('a'), { ...old, not_after: iso(time.now) }))
  await expect(begin()).rejects.toThrow(/keys\[2\]: is not the key that was published as old/)
  await expect(begin()).rejects.not.toThrow(/keys\[0\]: is not the key/)
})

it('the doctor warns about a key that a restart would remove too early', async () => {
  const { edit, run, time } = await prepare(key('b'), key('a'))
  const directory = await run((server) => Promise.resolve(server.directory))
  await edit(withKeys(key('a')))
  const checked = await checkConfiguration(join(directory, 'signet.yaml'), {}, loadPages)
  const audit = { record: () => Promise.resolve() }
  const { warnings } = await examine(checked, { clock: () => time.now, log: noLog, audit })
  expect(warnings).toContainEqual(expect.stringContaining('keys: b has been removed'))
})
