import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import {
  shareCounters,
  shareDeviceCodes,
  countedLookup,
  shareOneTime,
  shareReplays,
} from '../../core/storage/counted-collections.js'
import { createQuota, type Quota } from '../../core/storage/quotas.js'
import { Unavailable } from '../../core/unavailable.js'

// What one class of entries may take of a store, by two processes on one store. An entry costs 100 bytes and its record.

const directory = mkdtempSync(join(tmpdir(), 'signet-shares-'))
let now = Date.UTC(2026, 10, 20, 12)
const clock = () => now
const room = { capacity: () => 100_000, footprint: (_: number, recordBytes: number) => 100 + recordBytes }
let backends: readonly [StorageBackend, StorageBackend]
let round = 0

beforeEach(async () => {
  const path = join(directory, String(round++))
  const open = () => openEmbedded({ path, clock })
  backends = [await open(), await open()]
})
afterEach(async () => {
  for (const backend of backends) await backend[Symbol.asyncDispose]()
})
afterAll(() => rmSync(directory, { recursive: true }))

/** 10,000 bytes. */
const shareOf = (backend: StorageBackend, name = 'requests'): Quota =>
  createQuota({ name, part: 0.1, room, states: backend.counters('shares'), clock, component: 'storage.ephemeral' })
// 900 bytes as JSON.
const record = { x: 'x'.repeat(892) }
const isFull = (error: unknown) =>
  error instanceof Unavailable && error.applied === 'no' && error.message === 'the share of requests is full'

let ids = 0
const newId = () => `id-${String(ids++)}`
const putUntilFull = async (put: (id: string) => Promise<unknown>): Promise<number> => {
  for (let count = 0; ; count += 1) {
    try {
      await put(newId())
    } catch (error) {
      expect(error).toSatisfy(isFull)
      return count
    }
  }
}

it('refuses its own new entries when it is full, and no other class', async () => {
  const share = shareOf(backends[0])
  const codes = shareOneTime(share, backends[0].oneTime('interactions'))
  const first = newId()
  await codes.put(first, record, 600)
  expect(await putUntilFull((id) => codes.put(id, record, 600))).toBe(9)
  expect(share.read()).toEqual({ bytes: 10_000, limit: 10_000 })
  expect(await codes.redeem(first)).toMatchObject({ outcome: 'won' })
  expect(await codes.find(first)).toEqual(record)
  const sessions = countedLookup(shareOf(backends[0], 'sessions'), backends[0].records<typeof record>('sessions'))
  expect(await sessions.put(newId(), record, { ttlSeconds: 600 })).toBe(true)
})

it('has space again when entries expire, also for a process that has not synchronised since', async () => {
  const share = shareOf(backends[0])
  const codes = shareOneTime(share, backends[0].oneTime('interactions'))
  expect(share.read().bytes).toBe(0)
  expect(await putUntilFull((id) => codes.put(id, record, 600))).toBe(10)
  now += (600 + 10 + 64) * 1000
  expect(share.read().bytes).toBe(0)
  await codes.put(newId(), record, 600)
})

it('is one share for all processes, each of which learns what the others wrote', async () => {
  const [one, two] = [shareOf(backends[0]), shareOf(backends[1])]
  const put = (share: Quota, by: 0 | 1) => (id: string) =>
    shareOneTime(share, backends[by].oneTime('interactions')).put(id, record, 600)
  for (let count = 0; count < 6; count += 1) await put(one, 0)(newId())
  // What the other one has not reported yet is not known.
  await put(two, 1)(newId())
  expect(two.read().bytes).toBe(1000)
  await one.sync()
  await two.sync()
  expect(two.read().bytes).toBe(7000)
  expect(await putUntilFull(put(two, 1))).toBe(3)
  await two.sync()
  await one.sync()
  await expect(put(one, 0)(newId())).rejects.toSatisfy(isFull)
  // One that starts now asks before it admits.
  await expect(put(shareOf(backends[0]), 0)(newId())).rejects.toSatisfy(isFull)
})

it('has room again when entries expire, whichever process wrote them', async () => {
  const share = shareOf(backends[0])
  const codes = shareOneTime(share, backends[0].oneTime('interactions'))
  expect(await putUntilFull((id) => codes.put(id, record, 600))).toBe(10)
  await share.sync()
  now += 600_000
  await expect(codes.put(newId(), record, 600)).rejects.toSatisfy(isFull)
  // Ten seconds until they are collected, and the slice.
  now += 10_000 + 64_000
  expect(share.read().bytes).toBe(0)
  expect(await putUntilFull((id) => codes.put(id, record, 600))).toBe(10)
})

it('keeps what a process counted when another one continues from it', async () => {
  const share = shareOf(backends[0])
  const codes = shareOneTime(share, backends[0].oneTime('interactions'))
  await codes.put(newId(), record, 600)
  expect(share.hasUnsent()).toBe(true)
  await share.sync()
  expect(share.hasUnsent()).toBe(false)
  const next = shareOf(backends[1])
  await next.sync()
  expect(next.read().bytes).toBe(1000)
})

it('counts nothing that was not written', async () => {
  const share = shareOf(backends[0])
  const codes = shareOneTime(share, backends[0].oneTime('interactions'))
  const id = newId()
  await codes.put(id, record, 600)
  await expect(codes.put(id, record, 600)).rejects.toThrow('the id exists')
  const claims = shareReplays(share, { claim: (_namespace, claimed) => Promise.resolve(claimed === 'new') })
  expect(await claims.claim('n', 'old', 600, now)).toBe(false)
  expect(share.read().bytes).toBe(1000)
  expect(await claims.claim('n', 'new', 600, now)).toBe(true)
  expect(share.read().bytes).toBe(1100)
  const devices = shareDeviceCodes(share, backends[0].deviceCodes('device_codes'))
  const device = { userCode: 'CODE', request: {}, intervalSeconds: 5 }
  expect(await devices.start(newId(), device, 600)).toBe(true)
  const both = share.read().bytes
  expect(await devices.start(newId(), device, 600)).toBe(false)
  expect(share.read().bytes).toBe(both)
})

it('counts what may have been written', async () => {
  const share = shareOf(backends[0])
  const lost = () => Promise.reject(new Unavailable('storage.ephemeral', 'unknown', 'connection reset'))
  const claims = shareReplays(share, { claim: lost })
  await expect(claims.claim('n', 'x', 600, now)).rejects.toThrow('connection reset')
  expect(share.read().bytes).toBe(100)
})

it('subtracts entries that are removed early', async () => {
  const share = shareOf(backends[0])
  const until = now + 600_000
  const sessions = countedLookup<{ until: number }>(share, backends[0].records('sessions'), (one) => one.until)
  const id = newId()
  await sessions.put(id, { until }, { ttlSeconds: 600 })
  await sessions.put(newId(), { until }, { ttlSeconds: 600 })
  const { bytes } = share.read()
  now += 300_000
  expect(await sessions.remove(id)).toBe(true)
  expect(await sessions.remove(id)).toBe(false)
  expect(share.read().bytes).toBe(bytes / 2)
})

it('counts a state once, for as long as it is kept, and lets those that are there change', async () => {
  const share = shareOf(backends[0])
  const counters = shareCounters(share, backends[0].counters('counters'))
  const count = (id: string, padding = '', seconds = 600) =>
    counters.update<string, void>('n', id, (_, at) => ({
      result: undefined,
      write: { state: padding, forgetAt: at + seconds * 1000 },
    }))
  const id = newId()
  for (let times = 0; times < 5; times += 1) await count(id)
  expect(share.read().bytes).toBe(102)
  await count(id, 'x'.repeat(98))
  expect(share.read().bytes).toBe(200)
  now += 500_000
  await count(id, 'x'.repeat(98))
  now += 500_000
  expect(share.read().bytes).toBe(200)
  expect(await putUntilFull((other) => count(other, 'x'.repeat(898)))).toBe(9)
  await count(id, 'x'.repeat(98))
  await counters.update('n', id, () => ({ result: undefined, write: null }))
  expect(share.read().bytes).toBe(9000)
})

it('counts by the last total when the store cannot be asked', async () => {
  let isDown = false
  const sound = backends[0].counters('shares')
  const share = createQuota({
    ...{ name: 'requests', part: 0.1, room, clock, component: 'storage.ephemeral' },
    states: {
      update: (...given) =>
        isDown ? Promise.reject(new Unavailable('storage.ephemeral', 'no', 'down')) : sound.update(...given),
    },
  })
  isDown = true
  const codes = shareOneTime(share, backends[0].oneTime('interactions'))
  await expect(codes.put(newId(), record, 600)).rejects.toThrow('down')
  isDown = false
  await codes.put(newId(), record, 600)
  isDown = true
  expect(await putUntilFull((id) => codes.put(id, record, 600))).toBe(9)
  await expect(share.sync()).rejects.toThrow('down')
  expect(share.read().bytes).toBe(10_000)
  isDown = false
  await share.sync()
  expect(share.read().bytes).toBe(10_000)
})

it('keeps a small state regardless of the number and lifetime of entries', async () => {
  const share = shareOf(backends[0])
  for (let count = 0; count < 2000; count += 1) {
    share.count({ idBytes: 1, recordBytes: 0, until: now + 1000 * 2 ** (count % 21) })
    now += 500
    if (count % 100 === 99) await share.sync()
  }
  const state = await backends[0].counters('shares').update('share', 'requests', (current) => ({ result: current }))
  expect(JSON.stringify(state).length).toBeLessThan(5000)
})
