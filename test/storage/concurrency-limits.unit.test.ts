import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { createConcurrencyLimits } from '../../core/storage/concurrency-limits.js'
import type { ConcurrencyLimits, StorageBackend } from '../../core/storage/ports.js'

// How many places one caller holds, by two processes on one store.

const directory = mkdtempSync(join(tmpdir(), 'signet-occupancy-'))
let now = Date.UTC(2026, 10, 20, 12)
const clock = () => now
const policy = { most: 10, bytes: 100, mostBytes: 1_000_000, ttlSeconds: 600 }
let backends: readonly StorageBackend[]
let all: readonly ConcurrencyLimits[]

beforeAll(async () => {
  backends = await Promise.all([1, 2].map(() => openEmbedded({ path: directory, clock })))
  all = backends.map((backend) => createConcurrencyLimits(backend.counters('counters')))
})
afterAll(async () => {
  for (const backend of backends) await backend[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

const enter = (id: string, by = 0) => all[by]!.enter('n', id, policy)
const enterMany = (id: string, count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => enter(id, index % 2)))
const allowed = (entered: readonly { readonly allowed: boolean }[]): number =>
  entered.filter((one) => one.allowed).length

it('limits how many run at once, for each name separately', async () => {
  expect(allowed(await enterMany('parallel', 50))).toBe(10)
  const refused = await enter('parallel', 1)
  expect(refused).toMatchObject({ allowed: false })
  expect((await enter('another')).allowed).toBe(true)
})

it('frees a slot when it expires, at most a sixteenth later, and returns that time', async () => {
  await enterMany('time', 5)
  now += 300_000
  expect(allowed(await enterMany('time', 6))).toBe(5)
  const refused = await enter('time')
  const wait = refused.allowed ? 0 : refused.retryAfterSeconds
  expect(wait).toBeGreaterThanOrEqual(300)
  expect(wait).toBeLessThanOrEqual(338)
  now += (wait - 1) * 1000
  expect((await enter('time')).allowed).toBe(false)
  now += 1000
  expect(allowed(await enterMany('time', 10))).toBe(5)
})

it('releases a slot once, to the caller that held it', async () => {
  const entered = await enterMany('back', 10)
  const until = entered[0]?.allowed === true ? entered[0].until : 0
  await all[1]!.leave('n', 'another one', until, 100)
  await all[1]!.leave('n', 'back', until + 1, 100)
  expect((await enter('back')).allowed).toBe(false)
  await Promise.all([all[0]!.leave('n', 'back', until, 100), all[1]!.leave('n', 'back', until, 100)])
  expect(allowed(await enterMany('back', 5))).toBe(2)
  now += 700_000
  await all[0]!.leave('n', 'back', until, 100)
  expect(allowed(await enterMany('back', 20))).toBe(10)
})

it('holds nobody for longer because a clock was set back', async () => {
  now += 86_400_000
  expect(allowed(await enterMany('clock', 11))).toBe(10)
  now -= 86_400_000
  expect(allowed(await enterMany('clock', 11))).toBe(10)
})

it('keeps a small state regardless of the number of slots', async () => {
  for (let index = 0; index < 40; index += 1) {
    await Promise.all(
      Array.from({ length: 25 }, () =>
        all[0]!.enter('n', 'many', { most: 1000, bytes: 100, mostBytes: 1_000_000, ttlSeconds: 600 }),
      ),
    )
    now += 15_000
  }
  const state = await backends[0]!.counters('counters').update('n', 'many', (current) => ({ result: current }))
  expect(JSON.stringify(state).length).toBeLessThan(500)
})

it('counts bytes, also of what is given back, and lets one in that is larger than all may be', async () => {
  const take = (bytes: number) => all[0]!.enter('n', 'bytes', { most: 100, bytes, mostBytes: 1000, ttlSeconds: 600 })
  const first = await take(600)
  expect(first.allowed).toBe(true)
  expect((await take(401)).allowed).toBe(false)
  expect((await take(400)).allowed).toBe(true)
  expect((await take(1)).allowed).toBe(false)
  await all[1]!.leave('n', 'bytes', first.allowed ? first.until : 0, 600)
  expect((await take(600)).allowed).toBe(true)
  const huge = await all[0]!.enter('n', 'huge', { most: 100, bytes: 5000, mostBytes: 1000, ttlSeconds: 600 })
  expect(huge.allowed).toBe(true)
})
