import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { collections, type Collections } from '../../core/collections/collections.js'
import { openQuotas } from '../../core/collections/quotas.js'
import type { Stores } from '../../core/collections/stores.js'
import { acquireEnvironment } from '../../stores/embedded/environment.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { sizeOf } from '../../stores/embedded/tables.js'
import { openRedis } from '../../stores/redis/open-redis.js'
import { Unavailable } from '../../core/unavailable.js'
import { startRedis } from '../support/stores/redis/server.js'
import { settleRedis } from '../support/stores/redis/settle.js'
import { describeWith } from '../support/services/describe-with.js'

// AN01: with every share full, the store itself is not: what the backends say that an entry takes is what it takes.

const directory = mkdtempSync(join(tmpdir(), 'signet-shares-'))
afterAll(() => rmSync(directory, { recursive: true }))

const megabyte = 1024 * 1024
const newId = () => randomBytes(32).toString('base64url')
const sizes = [200, 900, 2500, 7000, 9000]
const textOf = (index: number) => 'x'.repeat(sizes[index % sizes.length] ?? 0)

/** One entry of each class, as callers leave it, of any size that it may have. None expires before the test is over. */
const kinds = (stored: Collections): Readonly<Record<string, (index: number) => Promise<unknown>>> => ({
  requests: (index) => stored.interactions.put(newId(), { request: textOf(index) } as never, 600 + (index % 7)),
  challenges: (index) => stored.challenges.put(newId(), { attributes: textOf(index) } as never, 300),
  sessions: (index) =>
    stored.sessions.put(newId(), { subject: textOf(index % 2), sid: newId() } as never, { ttlSeconds: 86_400 + index }),
  replay: () => stored.usedDpopProofs.claim('proof', newId(), 600 + Math.random() * 60, Date.now()),
  counters: (index) =>
    stored.attemptCounters.take('address', newId(), {
      free: 1,
      baseDelaySeconds: 1,
      maxDelaySeconds: 1,
      forgetAfterSeconds: 600 + (index % 900),
    }),
  device_codes: (index) =>
    stored.deviceCodes.start(
      newId(),
      { userCode: randomUUID(), request: textOf(index) as never, intervalSeconds: 5 },
      600,
    ),
  pushed_requests: (index) =>
    stored.pushedRequests.put(newId(), { request: textOf(index) as never, expiresAt: 0 }, 660),
  approvals: (index) => stored.factorRecords.put(newId(), { message: textOf(index % 2) }, { ttlSeconds: 3600 }),
})

/** Until the share refuses; a store that refuses by itself is full, and that is what must not be. */
const fill = async (put: (index: number) => Promise<unknown>): Promise<number> => {
  for (let index = 0; ;) {
    const settled = await Promise.allSettled(Array.from({ length: 64 }, () => put(index++)))
    const refusals = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
    for (const reason of refusals) {
      expect(reason).toBeInstanceOf(Unavailable)
      expect((reason as Unavailable).message).toMatch(/^the share of \w+ is full$/)
    }
    if (refusals.length === settled.length) return index
  }
}

const fillAll = async (stores: Stores, names: readonly string[]): Promise<void> => {
  await using opened = openQuotas(stores, Date.now)
  const stored = collections({ ...stores, shares: opened.shares })
  for (const name of names) {
    await fill(kinds(stored)[name]!)
    const share = opened.shares[name as keyof typeof opened.shares]
    const { bytes, limit } = share.read()
    expect(bytes / limit, name).toBeGreaterThan(0.9)
  }
}

it('the embedded store of 24 MB', { timeout: 120_000 }, async () => {
  const path = join(directory, 'embedded')
  await using backend = await openEmbedded({ path, max_size_mb: 24, clock: Date.now })
  const environment = await acquireEnvironment(path, 24 * megabyte)
  const stores = { records: backend, ephemeral: backend, [Symbol.asyncDispose]: () => Promise.resolve() }
  const all = [
    'requests',
    'challenges',
    'sessions',
    'replay',
    'counters',
    'device_codes',
    'pushed_requests',
    'approvals',
  ]
  await fillAll(stores, all)
  expect(sizeOf(environment).used).toBeLessThan(24 * megabyte)
  expect(sizeOf(environment).used).toBeGreaterThan(8 * megabyte)
  // Records have what is left.
  await backend.oneTime('codes').put(newId(), 'r', 60)
  await environment.release()
})

describeWith('redis', 'Redis with a maxmemory', () => {
  it('of 32 MB', { timeout: 120_000 }, async () => {
    await using server = await startRedis({ args: ['--maxmemory', '32mb'] })
    await settleRedis({ uri: server.uri(), key_prefix: 'signet:' })
    await using records = await openEmbedded({ path: join(directory, 'records'), clock: Date.now })
    await using ephemeral = await openRedis({ uri: server.uri(), key_prefix: 'signet:', clock: Date.now })
    expect(ephemeral.room.capacity()).toBe(32 * megabyte)
    const stores = { records, ephemeral, [Symbol.asyncDispose]: () => Promise.resolve() }
    await fillAll(stores, ['requests', 'challenges', 'sessions', 'replay', 'counters'])
    const info = String(await server.command('INFO', 'memory'))
    const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1])
    expect(used).toBeLessThan(32 * megabyte)
    expect(used).toBeGreaterThan(12 * megabyte)
    await ephemeral.ping(AbortSignal.timeout(5000))
    await server.command('CONFIG', 'SET', 'maxmemory', 0)
    await ephemeral.ping(AbortSignal.timeout(5000))
    await expect.poll(() => ephemeral.room.capacity(), { timeout: 30_000 }).toBe(1024 * megabyte)
  })
})
