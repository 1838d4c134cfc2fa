import { describe, expect, it } from 'vitest'
import { parseCheckpoint } from '../../../core/keys/log/checkpoint.js'
import { decodeEntry, encodeEntry } from '../../../core/keys/log/entry.js'
import type { KeyLogHead } from '../../../core/keys/log/head.js'
import { createKeyLog } from '../../../core/keys/log/key-log.js'
import { leafHash, rootOf } from '../../../core/keys/log/merkle.js'
import { isSignedBy } from '../../../core/keys/log/note.js'
import { readKeyLog, readTile } from '../../../core/keys/log/read-log.js'
import { createServedLog } from '../../../core/keys/log/served-log.js'
import { tilesOf } from '../../../core/keys/log/tiles.js'
import { verifyConsistency, verifyInclusion } from '../../../core/keys/log/proofs.js'
import { Unavailable } from '../../../core/unavailable.js'
import {
  appendMany,
  entryOf,
  Killed,
  memoryStore,
  never,
  newAuditKey,
  newLog,
  origin,
  signaturesOf,
  issuer,
} from './log-double.js'

const expected = (size: number) => Array.from({ length: size }, (_, index) => encodeEntry(entryOf(index)))
const leavesOf = (entries: readonly string[]) => entries.map((entry) => leafHash(Buffer.from(entry)))

/** Reads the whole log, and expects it to be what these many appends make. */
const expectLog = async (records: Map<string, string>, size: number) => {
  const copy = await readKeyLog(memoryStore(records))
  expect(copy?.checkpoint).toEqual({ ...copy?.checkpoint, origin, size })
  expect(copy?.entries).toEqual(expected(size))
  expect(copy?.checkpoint.root).toEqual(rootOf(leavesOf(expected(size))))
  return copy as NonNullable<typeof copy>
}

/** Appends this many entries of one key, which the last one numbers. */
const appendOfOne = (log: ReturnType<typeof createKeyLog>, count: number) =>
  log.append(([last]) => {
    const from = Number(last?.thumbprint ?? 0)
    const rest = Math.min(count - from, 300)
    return Array.from({ length: rest }, (_, place) => entryOf(0, { thumbprint: String(from + place + 1) }))
  })

describe('the key log', () => {
  it('is the same at every size around the bounds of tiles, and proves each entry and each step', async () => {
    const { log, records, key } = newLog()
    const checkpoints: { size: number; root: Buffer }[] = []
    let before = 0
    for (const size of [1, 2, 255, 256, 257, 511, 512, 513, 1100]) {
      await appendMany(log, before, size)
      await log.sign(await log.read(), never)
      before = size
      const { checkpoint, entries, prover, note } = await expectLog(records, size)
      const parsed = parseCheckpoint(note)
      expect(parsed && isSignedBy(parsed.note, key.verifier)).toBe(true)
      for (const index of [0, 1, 254, 255, 256, 510, 512, size - 1].filter((one) => one < size)) {
        const leaf = leafHash(Buffer.from(entries[index] ?? ''))
        expect(verifyInclusion(leaf, index, await prover.inclusion(index, size), checkpoint)).toBe(true)
      }
      for (const earlier of checkpoints)
        expect(verifyConsistency(earlier, await prover.consistency(earlier.size, size), checkpoint)).toBe(true)
      checkpoints.push(checkpoint)
    }
  })

  it('serves each tile and each bundle that a log of this size has, as narrow as asked, and no other', async () => {
    const { log, store } = newLog()
    const head = await appendMany(log, 0, 700)
    const leaves = leavesOf(expected(700))
    for (const size of [1, 256, 300, 700])
      for (const { index, width } of tilesOf(0, size)) {
        const hashes = leaves.slice(index * 256, index * 256 + width)
        expect(await readTile(store, head, { level: 0, index, width })).toEqual({ hashes })
        const entries = expected(700).slice(index * 256, index * 256 + width)
        expect(await readTile(store, head, { level: 'entries', index, width })).toEqual({ entries })
      }
    const above = [rootOf(leaves.slice(0, 256)), rootOf(leaves.slice(256, 512))]
    expect(await readTile(store, head, { level: 1, index: 0, width: 2 })).toEqual({ hashes: above })
    expect(await readTile(store, head, { level: 1, index: 0, width: 1 })).toEqual({ hashes: above.slice(0, 1) })
    for (const [level, index, width] of [
      [0, 2, 256],
      [0, 2, 189],
      [0, 3, 1],
      [1, 0, 3],
      [1, 1, 1],
      [2, 0, 1],
      [63, 0, 1],
    ] as const)
      expect(await readTile(store, head, { level, index, width })).toBeUndefined()
    expect(await readTile(store, head, { level: 'entries', index: 10 ** 12, width: 256 })).toBeUndefined()
  })

  it('is served as it is by now, also where a part of it was read a moment ago', async () => {
    const { log, store } = newLog()
    const served = createServedLog(store)
    expect(await served.checkpoint()).toBeUndefined()
    await log.sign(await appendMany(log, 0, 2), never)
    expect((await served.tile({ level: 0, index: 0, width: 2 }))?.byteLength).toBe(64)
    // Another replica appends, and the reader has its checkpoint.
    await log.sign(await appendMany(log, 2, 5), never)
    expect((await served.tile({ level: 'entries', index: 0, width: 5 }))?.byteLength).toBeGreaterThan(500)
    expect((await served.tile({ level: 0, index: 0, width: 2 }))?.byteLength).toBe(64)
    expect(await served.tile({ level: 0, index: 0, width: 6 })).toBeUndefined()
  })

  it('has tiles of every level', async () => {
    const { log, records } = newLog()
    const head = await appendOfOne(log, 65_836)
    await log.sign(await log.read(), never)
    const copy = await readKeyLog(memoryStore(records))
    expect(copy?.entries.length).toBe(65_836)
    expect(copy?.checkpoint.root).toEqual(rootOf(leavesOf(copy?.entries ?? [])))
    const second = await readTile(memoryStore(records), head, { level: 2, index: 0, width: 1 })
    expect(second).toEqual({ hashes: [rootOf(leavesOf(copy?.entries ?? []).slice(0, 65_536))] })
  }, 60_000)

  it('remembers the last steps of ended keys, and forgets the oldest', async () => {
    const { log } = newLog()
    for (let index = 0; index < 1200; index++)
      await log.append(() => [entryOf(index, { step: index === 5 ? 'signing' : 'gone' })])
    const { keys } = await log.read()
    expect(keys.length).toBe(129)
    expect(keys.map(({ kid }) => kid)).toContain('es-5')
  })
})

describe('KR18: processes that are killed and paused', () => {
  it('KR18: loses nothing and has nothing twice after a kill at each point of each write', async () => {
    const points: string[] = []
    const sizes = [1, 255, 256, 257, 520]
    const run = async (
      records: Map<string, string>,
      point: (what: string) => void,
      key: ReturnType<typeof newAuditKey>,
    ) => {
      const { log } = newLog(records, { point, key })
      let before = 0
      for (const size of sizes) {
        await appendMany(log, before, size)
        await log.sign(await log.read(), never)
        before = size
      }
    }
    const key = newAuditKey()
    await run(new Map(), (what) => void points.push(what), key)
    expect(points.length).toBeGreaterThan(20)
    for (let kill = 0; kill < points.length; kill++) {
      const records = new Map<string, string>()
      let count = 0
      const dying = run(
        records,
        () => {
          if (count++ >= kill) throw new Killed()
        },
        key,
      )
      await expect(dying).rejects.toThrow(Killed)
      // Another process repeats everything from the beginning.
      await run(records, () => undefined, key)
      await expectLog(records, 520)
    }
  })

  it('KR18: signs no two checkpoints of one size that differ, however many processes append', async () => {
    const records = new Map<string, string>()
    const key = newAuditKey()
    const signed: string[] = []
    const turns = () =>
      new Promise<void>((resolve) => {
        setImmediate(resolve)
      })
    const processes = Array.from({ length: 4 }, () => newLog(records, { key, signed, point: turns }).log)
    await Promise.all(
      processes.map(async (log, number) => {
        for (let count = 0; count < 70; count++) {
          const entry = entryOf(number * 1000 + count)
          await log.append((keys) => (keys.some(({ kid }) => kid === entry.kid) ? [] : [entry]))
          await log.sign(await log.read(), never)
        }
      }),
    )
    const copy = await readKeyLog(memoryStore(records))
    expect(copy?.entries.length).toBe(280)
    expect(new Set(copy?.entries.map((entry) => decodeEntry(entry)?.kid)).size).toBe(280)
    const roots = new Map<string, Set<string>>()
    for (const [size = '', root = ''] of signed.map((text) => text.split('\n').slice(1)))
      roots.set(size, (roots.get(size) ?? new Set()).add(root))
    expect([...roots.values()].filter(({ size }) => size > 1)).toEqual([])
    const { checkpoint } = copy as NonNullable<typeof copy>
    expect(checkpoint.root).toEqual(rootOf(leavesOf(copy?.entries ?? [])))
  })

  it('KR18: changes nothing when a process wakes up in the middle of a write, at any of them', async () => {
    for (const paused of [
      'before put tile/0/000',
      'before put tile/entries/000',
      'before update head',
      'after update head',
    ]) {
      const records = new Map<string, string>()
      const key = newAuditKey()
      await appendMany(newLog(records, { key }).log, 0, 256)
      let wake = (): void => undefined
      const woken = new Promise<void>((resolve) => (wake = resolve))
      let once = true
      const sleepy = newLog(records, {
        key,
        point: (what) => {
          if (what !== paused || !once) return undefined
          once = false
          return woken
        },
      }).log
      const late = appendMany(sleepy, 256, 258).then((head) => sleepy.sign(head, never))
      const { log } = newLog(records, { key })
      await appendMany(log, 256, 600)
      await log.sign(await log.read(), never)
      wake()
      await late
      await expectLog(records, 600)
    }
  })

  it('KR18: keeps the checkpoint of the larger log when a slower process has signed a smaller one', async () => {
    const records = new Map<string, string>()
    const key = newAuditKey()
    let wake = (): void => undefined
    const woken = new Promise<void>((resolve) => (wake = resolve))
    const slow = createKeyLog({
      store: memoryStore(records),
      issuer,
      signatures: {
        sign: async (...order) => {
          await woken
          return signaturesOf(key).sign(...order)
        },
      },
    })
    await appendMany(slow, 0, 3)
    const late = slow.sign(await slow.read(), never)
    const { log: fast } = newLog(records, { key })
    await fast.sign(await appendMany(fast, 3, 9), never)
    wake()
    await late
    await expectLog(records, 9)
  })

  it('KR18: keeps entries while the key of the log is away, and signs them later', async () => {
    const records = new Map<string, string>()
    let isAway = true
    const { log } = newLog(records, { isAway: () => isAway })
    await appendMany(log, 0, 3)
    await expect(log.sign(await log.read(), never)).rejects.toThrow(Unavailable)
    expect(await readKeyLog(memoryStore(records))).toBeUndefined()
    isAway = false
    await log.sign(await log.read(), never)
    await expectLog(records, 3)
  })
})

describe('KR19: a history that was changed in the store', () => {
  const tampered: readonly (readonly [string, string, (text: string) => string])[] = [
    [
      'the hashes of the head',
      'head',
      (text) => {
        const head = JSON.parse(text) as KeyLogHead
        return JSON.stringify({
          ...head,
          edges: head.edges.map((edge, level) =>
            level === 0 ? Buffer.alloc(Buffer.from(edge, 'base64').length).toString('base64') : edge,
          ),
        })
      },
    ],
    ['the size of the head', 'head', (text) => text.replace('"signed":300', '"signed":299')],
    ['the checkpoint', 'head', (text) => text.replace(/\\n300\\n/, '\\n299\\n')],
    ['the kind of the head', 'head', (text) => text.replace('"head"', '"tile"')],
  ]
  it.each(tampered)('KR19: signs nothing after a change of %s', async (_what, id, change) => {
    const { log, records } = newLog()
    await appendMany(log, 0, 300)
    await log.sign(await log.read(), never)
    const text = records.get(id) ?? ''
    expect(change(text)).not.toBe(text)
    records.set(id, change(text))
    await expect(appendMany(log, 300, 301).then((head) => log.sign(head, never))).rejects.toThrow(Unavailable)
  })

  it('KR19: writes no other tile in the place of one', async () => {
    const { log, records } = newLog()
    await appendMany(log, 0, 256)
    await log.sign(await log.read(), never)
    records.set('tile/0/000', JSON.stringify({ kind: 'tile', hashes: Buffer.alloc(8192).toString('base64') }))
    await expect(appendMany(log, 256, 257)).rejects.toThrow(Unavailable)
  })
})
