import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addBits, createBitmap, readBits, setBits } from '../../core/attestation/status-list/bits.js'
import { createIndexOrder, indexCount } from '../../core/attestation/status-list/index-order.js'
import { blockSize, createStatusIndexes, type ListInUse } from '../../core/attestation/status-list/indexes.js'
import { createListIds, endOf } from '../../core/attestation/status-list/list-ids.js'
import { packageRoot } from '../../core/package-root.js'
import type { RecordStore, StorageBackend } from '../../core/storage/ports.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { Unavailable } from '../../core/unavailable.js'

const run = promisify(execFile)

let now = Date.now()
const clock = (): number => now
const later = (seconds: number): void => void (now += seconds * 1000)

let directory: string
let backend: StorageBackend
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'signet-lists-'))
  backend = await openEmbedded({ path: join(directory, 'store'), clock })
})
afterAll(async () => {
  await backend[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

const tokenSeconds = 3600
let lists = 0
/** A collection of its own for each test, as several processes have it. */
const newLists = () => backend.records<ListInUse>(`lists_${'x'.repeat(lists++)}`)
const ids = () => createListIds(backend.records('secrets'))
const allocator = (of: RecordStore<ListInUse>) => createStatusIndexes({ lists: of, ids: ids(), clock, tokenSeconds })

describe('the order of indexes', () => {
  it('SL01 has each of a million once, at another position in each list', () => {
    const [order, other] = [createIndexOrder(Buffer.from('one')), createIndexOrder(Buffer.from('other'))]
    const seen = new Uint8Array(indexCount)
    let same = 0
    for (let position = 0; position < indexCount; position++) {
      const idx = order(position)
      seen[idx] = 1
      if (idx === other(position)) same++
    }
    expect(seen.every((one) => one === 1)).toBe(true)
    expect(same).toBeLessThan(20)
  })

  it('SL01 spreads consecutive indexes over the whole list', () => {
    const order = createIndexOrder(Buffer.from('spread'))
    const sixteenths = new Array<number>(16).fill(0)
    for (let position = 0; position < 16_000; position++) {
      const part = Math.floor((order(position) * 16) / indexCount)
      sixteenths[part] = Number(sixteenths[part]) + 1
    }
    for (const count of sixteenths) expect(Math.abs(count - 1000)).toBeLessThan(200)
  })
})

describe('indexes', () => {
  it('SL01 100,000 from two allocators over one store, all different', async () => {
    const of = newLists()
    const [one, other] = [allocator(of), allocator(of)]
    const seen = new Set<string>()
    for (let n = 0; n < 500; n++) {
      const some = await Promise.all(Array.from({ length: 200 }, (_, at) => (at % 2 === 0 ? one() : other())))
      for (const { list, idx } of some) seen.add(`${list}.${String(idx)}`)
    }
    expect(seen.size).toBe(100_000)
  })

  it('SL01 from two processes at once, all different', async () => {
    const worker = join(packageRoot, 'test/support/stores/status-index-worker.ts')
    const take = async (): Promise<string[]> => {
      const { stdout } = await run(process.execPath, ['--import', 'tsx', worker, join(directory, 'shared'), '2000'])
      return JSON.parse(stdout) as string[]
    }
    const taken = (await Promise.all([take(), take()])).flat()
    expect([taken.length, new Set(taken).size]).toEqual([4000, 4000])
    // They share one list.
    expect(new Set(taken.map((one) => one.split('.')[0])).size).toBe(1)
  })

  it('SL07 a full list is followed by a new one', async () => {
    const of = newLists()
    const first = await allocator(of)()
    await of.put('in_use', { list: first.list, given: indexCount - blockSize })
    const next = allocator(of)
    const taken = await Promise.all(Array.from({ length: blockSize + 1 }, () => next()))
    expect(taken.filter(({ list }) => list === first.list)).toHaveLength(blockSize)
    expect(new Set(taken.map(({ list }) => list)).size).toBe(2)
  })

  it('SL06 no token gets an index of a list that it would outlive, even from a reserved block', async () => {
    const of = newLists()
    const next = allocator(of)
    const { list } = await next()
    expect(endOf(list) * 1000 - now).toBeGreaterThan(86_400_000)
    later(endOf(list) - Math.floor(now / 1000) - tokenSeconds + 1)
    expect((await next()).list).not.toBe(list)
  })

  it('an outage allocates nothing, and the next attempt succeeds', async () => {
    const of = newLists()
    let isDown = true
    const failing = {
      ...of,
      update: ((id, decide) => (isDown ? Promise.reject(down()) : of.update(id, decide))) as typeof of.update,
    }
    const next = allocator(failing)
    await expect(Promise.all([next(), next()])).rejects.toBeInstanceOf(Unavailable)
    isDown = false
    const [one, other] = await Promise.all([next(), next()])
    expect(one).not.toEqual(other)
  })
})

const down = (): Unavailable => new Unavailable('storage.double', 'no', 'connection refused')

describe('revoked bits', () => {
  const bits = () => backend.records<string>('status_list_bits')

  it('are set concurrently, and read as a whole', async () => {
    const list = await ids().make(Math.floor(now / 1000) + 600)
    const indexes = Array.from({ length: 64 }, (_, at) => (at * 16_411) % indexCount)
    await Promise.all(indexes.map((idx) => setBits(bits(), list, [idx])))
    const [bitmap, expected] = [createBitmap(), createBitmap()]
    await readBits(bits(), list, bitmap)
    addBits(expected, indexes)
    expect(bitmap.bytes.equals(expected.bytes)).toBe(true)
    const { version } = bitmap
    await readBits(bits(), list, bitmap)
    expect(bitmap.version).toBe(version)
  })

  it('SL06 are removed from the store when their list has ended', async () => {
    const list = await ids().make(Math.floor(now / 1000) + 60)
    await setBits(bits(), list, [1, indexCount - 1])
    const before = createBitmap()
    await readBits(bits(), list, before)
    expect([before.bytes[0], before.bytes.at(-1)]).toEqual([2, 128])
    later(61)
    const after = createBitmap()
    await readBits(bits(), list, after)
    expect(after.version).toBe(0)
  })
})
