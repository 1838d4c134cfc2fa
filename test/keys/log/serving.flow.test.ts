import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { KeyLogHead, KeyLogRecord } from '../../../core/keys/log/head.js'
import { leafHash, rootOf } from '../../../core/keys/log/merkle.js'
import { chaosNamed } from '../../support/signers/chaos-signer/commands.js'
import { key, prepareRestarts, startReloadServer, type Json } from '../../support/server/reloading.js'
import { openTestRecords } from '../../support/stores/test-stores.js'
import { auditKey, fetchLog, stepsIn, withKeyLog } from './log-server.js'
import { look, prepareRotation, hour } from '../slots/rotation.js'

const start = Date.parse('2026-11-26T00:00:00Z')

const kidsOf = async (origin: string) =>
  ((await (await fetch(`${origin}/jwks.json`)).json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)

describe('the key log of a running service', () => {
  it('has each key before it is published, and each step of its life once, whoever looks', async () => {
    const time = { now: start }
    await using deployment = await prepareRestarts({
      clock: () => time.now,
      configure: (written) =>
        withKeyLog({
          ...written,
          keys: [key('old', { not_after: '2026-11-26T04:00:00Z' }), key('new', { not_before: '2026-11-26T03:00:00Z' })],
        }),
    })
    const server = await deployment.start()
    onTestFinished(() => server[Symbol.asyncDispose]())
    const first = await fetchLog(server.origin)
    expect(stepsIn(first.entries)).toEqual([
      ...['old published', 'old signing', 'new published', 'audit published', 'audit signing'],
    ])
    expect(first.entries.map(({ signer }) => signer)).toEqual(first.entries.map(() => 'signers/local'))
    expect(first.checkpoint.root).toEqual(rootOf(first.texts.map(leafHash)))
    for (const [hours, steps] of [
      [3, ['new signing']],
      [4, ['old retired']],
      [6, ['old gone']],
    ] as const) {
      time.now = start + hours * hour
      await expect.poll(async () => stepsIn((await fetchLog(server.origin)).entries.slice(-1))).toEqual(steps)
    }
    expect((await fetchLog(server.origin)).entries.at(-1)?.time).toBe('2026-11-26T06:00:00Z')
    // Another start finds everything said.
    await server[Symbol.asyncDispose]()
    await using other = await deployment.start()
    expect((await fetchLog(other.origin)).checkpoint.size).toBe(8)
  })

  it('has every key of a deployment that switches it on, and goes on where it was', async () => {
    await using deployment = await prepareRestarts({
      configure: (written) => ({ ...written, keys: [key('es256'), auditKey] }),
    })
    const before = await deployment.start()
    expect((await fetch(`${before.origin}/keys/log/checkpoint`)).status).toBe(404)
    await before[Symbol.asyncDispose]()
    await deployment.edit((written) => ({ ...written, key_log: true }))
    const on = await deployment.start()
    expect(stepsIn((await fetchLog(on.origin)).entries)).toEqual([
      ...['es256 published', 'es256 signing', 'audit published', 'audit signing'],
    ])
    await on[Symbol.asyncDispose]()
    // A key that is removed while nothing runs was withdrawn.
    await deployment.edit((written) => ({ ...written, keys: [key('next'), auditKey] }))
    await using after = await deployment.start()
    await expect
      .poll(async () => stepsIn((await fetchLog(after.origin)).entries.slice(4)))
      .toEqual(['next published', 'next signing', 'es256 withdrawn'])
  })

  it('has what a reload adds, changes and removes', async () => {
    await using server = await startReloadServer({ configure: (written) => withKeyLog(written) })
    const edit = async (keys: readonly Json[], force: Record<string, string> = {}) => {
      await server.edit((written) => ({ ...written, keys: [...keys, auditKey] }))
      expect(await server.reload(force)).toMatchObject({ status: 200 })
    }
    const added = key('added', { allow_early: true, purposes: ['access_token'] })
    await edit([key('es256'), added])
    await edit([key('es256'), { ...added, purposes: ['id_token'] }])
    await edit([key('es256')], { force: 'true' })
    await expect
      .poll(async () => stepsIn((await fetchLog(server.origin)).entries.slice(4)))
      .toEqual([...['added published', 'added signing', 'added signing', 'added withdrawn']])
    const { entries } = await fetchLog(server.origin)
    expect(entries.slice(4).map(({ purposes }) => purposes[0])).toEqual([
      ...['access_token', 'access_token', 'id_token', 'id_token'],
    ])
  })

  it('has the keys of slots on two replicas, each step once', async () => {
    const rotate = { every_days: 1, announce_days: 0.2, destroy_after_days: 1 }
    const {
      start: begin,
      edit,
      time,
    } = await prepareRotation([
      { slot: 'es', alg: 'ES256', signer: 'local', rotate, purposes: ['access_token'] },
      { slot: 'rs', alg: 'RS256', signer: 'local', purposes: ['id_token'] },
      { slot: 'ed', alg: 'EdDSA', signer: 'local', purposes: ['id_token', 'audit'] },
    ])
    await edit((written) => ({ ...written, key_log: true }))
    const a = await begin()
    onTestFinished(() => a[Symbol.asyncDispose]())
    await edit((written) => ({ ...written, listen: { host: '127.0.0.1', port: 0 } }))
    const b = await begin()
    onTestFinished(() => b[Symbol.asyncDispose]())
    // The hours in which a key is retired are passed over.
    for (let day = 0; day < 5; day += 0.25) {
      await look(time, a, b)
      time.now += 6 * hour
    }
    await expect
      .poll(
        async () => {
          await look(time, a, b)
          return stepsIn((await fetchLog(b.origin)).entries).filter((step) => step.startsWith('es-1 '))
        },
        { timeout: 20_000 },
      )
      .toEqual(['es-1 published', 'es-1 signing', 'es-1 gone', 'es-1 destroyed'])
    const steps = stepsIn((await fetchLog(a.origin)).entries)
    expect(new Set(steps).size).toBe(steps.length)
  }, 120_000)
})

describe('KR20: the key of the log is away', () => {
  const name = 'key-log-chaos'
  const chaos = chaosNamed(name)
  const use = fileURLToPath(new URL('../../support/signers/chaos-signer/index.ts', import.meta.url))
  const away = { ...auditKey, signer: 'chaos' }
  const configure = (written: Json): Json => ({
    ...written,
    signers: { ...(written['signers'] as Json), chaos: { use, options: { name } } },
    key_log: true,
    keys: [key('es256'), away],
  })

  it('KR20: publishes no key that the log lacks, serves those that it has, and publishes later', async () => {
    onTestFinished(() => chaos.tell({}))
    const time = { now: start }
    await using deployment = await prepareRestarts({ configure, clock: () => time.now })
    const before = await deployment.start()
    expect(await kidsOf(before.origin)).toEqual(['es256', 'audit'])
    chaos.tell({ fault: 'throttle', opening: 'down' })
    // A reload is refused as an outage, and nothing of it takes effect.
    await deployment.edit((written) => ({ ...written, keys: [key('es256'), key('new', { allow_early: true }), away] }))
    expect((await before.reload()).status).toBe(503)
    expect(await kidsOf(before.origin)).toEqual(['es256', 'audit'])
    await before[Symbol.asyncDispose]()
    // A start serves what it may.
    await using after = await deployment.start()
    expect(await kidsOf(after.origin)).toEqual(['es256', 'audit'])
    expect((await fetchLog(after.origin)).checkpoint.size).toBe(4)
    expect((await after.token()).status).toBe(200)
    time.now += 60_000
    const behind = async () => {
      const text = await (await fetch(`${after.admin}/metrics`)).text()
      return Number(/^signet_key_log_behind_seconds\S* (\S+)$/m.exec(text)?.[1])
    }
    expect(await behind()).toBeGreaterThanOrEqual(60)
    chaos.tell({})
    await expect.poll(() => kidsOf(after.origin), { timeout: 30_000 }).toEqual(['es256', 'new', 'audit'])
    expect(stepsIn((await fetchLog(after.origin)).entries.slice(4))).toContain('new published')
    await expect.poll(behind).toBe(0)
  }, 60_000)

  it('KR20: lets a key that is published late sign no earlier than relying parties can know it', async () => {
    onTestFinished(() => chaos.tell({}))
    const time = { now: start }
    await using deployment = await prepareRestarts({ configure, clock: () => time.now })
    const before = await deployment.start()
    await before[Symbol.asyncDispose]()
    chaos.tell({ fault: 'throttle', opening: 'down' })
    await deployment.edit((written) => ({ ...written, keys: [key('new'), key('es256'), away] }))
    await using after = await deployment.start()
    time.now += 2 * hour
    chaos.tell({})
    await expect.poll(() => kidsOf(after.origin), { timeout: 30_000 }).toEqual(['new', 'es256', 'audit'])
    const kid = async () => {
      const { access_token } = (await (await after.token()).json()) as { access_token: string }
      return (JSON.parse(Buffer.from(access_token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid
    }
    expect(await kid()).toBe('es256')
    time.now += hour + 1000
    expect(await kid()).toBe('new')
  }, 60_000)
})

describe('KR20: slots whose log cannot be signed', () => {
  it('KR20: sign with the keys that they have for as long as it takes, and publish the next one then', async () => {
    const name = 'key-log-slots'
    const chaos = chaosNamed(name)
    onTestFinished(() => chaos.tell({}))
    const use = fileURLToPath(new URL('../../support/signers/chaos-signer/index.ts', import.meta.url))
    const {
      start: begin,
      edit,
      time,
    } = await prepareRotation(
      [
        { slot: 'es', alg: 'ES256', signer: 'local', rotate: { every_days: 1, announce_days: 0.2, ahead: 0 } },
        { slot: 'rs', alg: 'RS256', signer: 'local', rotate: { ahead: 0 }, purposes: ['id_token'] },
        key('ed', { alg: 'EdDSA', purposes: ['id_token'] }),
        { ...auditKey, signer: 'chaos' },
      ],
      { chaos: { use, options: { name } } },
    )
    await edit((written) => ({ ...written, key_log: true }))
    await using server = await begin()
    await look(time, server)
    chaos.tell({ fault: 'throttle' })
    for (let hours = 0; hours < 40; hours += 2) {
      time.now += 2 * hour
      await look(time, server)
      expect((await server.token()).status).toBe(200)
    }
    expect(await kidsOf(server.origin)).toEqual(['es-1', 'rs-1', 'ed', 'audit'])
    chaos.tell({})
    await expect
      .poll(
        async () => {
          await look(time, server)
          return kidsOf(server.origin)
        },
        { timeout: 30_000 },
      )
      .toContain('es-2')
    expect(stepsIn((await fetchLog(server.origin)).entries)).toContain('es-2 published')
  }, 60_000)
})

describe('KR19: a running service whose log was changed', () => {
  it('KR19: signs no more, and publishes no other key', async () => {
    await using server = await startReloadServer({ configure: (written) => withKeyLog(written) })
    {
      await using records = await openTestRecords(`${server.directory}/store`, Date.now)
      const store = records.records<KeyLogRecord>('key_log')
      const head = (await store.find('head')) as KeyLogHead
      const edges = [Buffer.alloc(32 * head.size).toString('base64')]
      await store.put('head', { ...head, edges })
    }
    await server.edit((written) => ({ ...written, keys: [key('es256'), key('new', { allow_early: true }), auditKey] }))
    expect((await server.reload()).status).toBe(503)
    expect(await kidsOf(server.origin)).toEqual(['es256', 'audit'])
  })
})
