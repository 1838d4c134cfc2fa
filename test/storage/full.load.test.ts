import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { collect } from '../../stores/embedded/collector.js'
import { acquireEnvironment } from '../../stores/embedded/environment.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { sizeOf } from '../../stores/embedded/tables.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { Unavailable } from '../../core/unavailable.js'
import { mountSmallDisk } from '../support/stores/small-disk.js'

const directory = mkdtempSync(join(tmpdir(), 'signet-full-'))
const disk = mountSmallDisk('1m')

afterAll(() => {
  disk?.[Symbol.dispose]()
  rmSync(directory, { recursive: true })
})

// A whole second, to which expiry is rounded where it is planned.
let now = Math.ceil(Date.now() / 1000) * 1000
const clock = () => now
const ttlSeconds = 600

const certainlyNot = (error: unknown) => error instanceof Unavailable && error.applied === 'no'

/** Waits until the store has taken so many more: it is collected bit by bit, and filled again at once. */
const refill = async (backend: StorageBackend, count: number): Promise<void> => {
  const taken: string[] = []
  await expect.poll(async () => taken.push(...(await fill(backend))), { timeout: 30_000 }).toBeGreaterThan(count)
}

/** Puts records until the store refuses; returns the ids that it took. */
const fill = async (backend: StorageBackend): Promise<string[]> => {
  const codes = backend.oneTime('codes')
  const ids: string[] = []
  for (;;) {
    const id = randomUUID()
    try {
      await codes.put(id, { id, padding: 'x'.repeat(2_000) }, ttlSeconds)
      ids.push(id)
    } catch (error) {
      expect(error).toSatisfy(certainlyNot)
      expect(await codes.find(id)).toBeUndefined()
      return ids
    }
  }
}

describe('a store at its maximum size', () => {
  it('refuses new records, keeps the old ones, and resumes when they have expired', async () => {
    await using backend = await openEmbedded({ path: join(directory, 'maximum'), max_size_mb: 1, clock })
    const codes = backend.oneTime('codes')
    const families = backend.refreshFamilies('families')
    const guard = backend.replayGuard('claims')
    await families.start('family', { grant: {}, current: 'a', absoluteExpiry: now + 1e9 }, 1e6)
    await guard.claim('client', 'known', 1e6)

    const ids = await fill(backend)
    expect(ids.length).toBeGreaterThan(100)

    // New entries are refused: never admitted, never in the place of another.
    await expect(guard.claim('client', 'new', 60)).rejects.toSatisfy(certainlyNot)
    expect(await guard.claim('client', 'known', 60)).toBe(false)
    // What was admitted can still be consumed, all of it.
    for (const id of ids) expect(await codes.redeem(id)).toMatchObject({ outcome: 'won', record: { id } })
    for (const id of ids) expect((await codes.redeem(id)).outcome).toBe('replayed')
    const rotation = { presented: 'a', successor: { hash: 'b', salt: 's' }, idleTtlSeconds: 1e6 }
    expect((await families.rotate('family', rotation)).outcome).toBe('won')
    // A token that must die does.
    await backend.revocations('revocations').revoke('grant', 1e6)
    expect(await backend.revocations('revocations').isRevoked(['grant'])).toBe(true)
    await backend.revocations('revocations').revokeBefore('subject', now, 1e6)
    expect(await backend.revocations('revocations').endedBefore('subject')).toBe(now)
    await backend.ping(new AbortController().signal)

    now += ttlSeconds * 1000
    await refill(backend, 100)
    expect((await families.find('family'))?.current).toBe('b')
    expect(await guard.claim('client', 'known', 60)).toBe(false)
  })

  it('grows to a plateau when short-lived records come and go', async () => {
    const path = join(directory, 'plateau')
    await using backend = await openEmbedded({ path, max_size_mb: 64, clock })
    const environment = await acquireEnvironment(path, 64 * 1024 * 1024)
    const peaks: number[] = []
    const rests: number[] = []
    for (let round = 0; round < 6; round += 1) {
      const claims = Array.from({ length: 3_000 }, (_, index) =>
        backend.replayGuard('claims').claim('client', `${round} ${index}`, 60),
      )
      expect((await Promise.all(claims)).every(Boolean)).toBe(true)
      peaks.push(sizeOf(environment).used)
      now += 60_000
      while (await collect(environment, now));
      rests.push(sizeOf(environment).used)
    }
    expect(Math.max(...peaks)).toBeLessThan(peaks[0]! * 1.5)
    expect(Math.max(...rests)).toBeLessThan(peaks[0]! / 10)
    await environment.release()
  })

  it('collects records with an extended lifetime once, and no others', async () => {
    const path = join(directory, 'spared')
    await using backend = await openEmbedded({ path, clock })
    const environment = await acquireEnvironment(path, 1024 * 1024 * 1024)
    const sessions = backend.records<number>('sessions')
    await sessions.put('for ever', 0)
    await sessions.put('longer', 1, { ttlSeconds: 60 })
    await sessions.put('longer', 2, { ttlSeconds: 120 })
    await sessions.put('shorter', 1, { ttlSeconds: 120 })
    await sessions.put('shorter', 2, { ttlSeconds: 60 })
    await sessions.put('kept', 1, { ttlSeconds: 60 })
    await sessions.put('kept', 2)
    await sessions.put('removed', 1, { ttlSeconds: 60 })
    await sessions.remove('removed')
    const stored = () => [...environment.records.getKeys()].map((key) => key.toString().slice('sessions\0'.length))
    const planned = () => environment.expiry.getKeysCount()

    now += 60_000
    expect(await collect(environment, now)).toBe(false)
    expect(stored()).toEqual(['for ever', 'kept', 'longer'])
    now += 60_000
    await collect(environment, now)
    expect(stored()).toEqual(['for ever', 'kept'])
    expect(planned()).toBe(0)
    expect(await sessions.find('kept')).toBe(2)
    await environment.release()
  })
})

describe.skipIf(!disk)('a full disk', () => {
  it('refuses new records, lets those that it took be consumed, and recovers when they have expired', async () => {
    await using backend = await openEmbedded({ path: join(disk!.path, 'store'), clock })
    const codes = backend.oneTime('codes')
    const ids = await fill(backend)
    expect(ids.length).toBeGreaterThan(20)
    for (const id of ids) expect(await codes.redeem(id)).toMatchObject({ outcome: 'won', record: { id } })
    await backend.revocations('revocations').revoke('grant', ttlSeconds)
    expect(await backend.revocations('revocations').isRevoked(['grant'])).toBe(true)

    now += ttlSeconds * 1000
    await refill(backend, 20)
  })

  it('burns nothing when not a byte is left, and recovers when there is room', async () => {
    await using backend = await openEmbedded({ path: join(disk!.path, 'store'), clock })
    const codes = backend.oneTime('codes')
    const families = backend.refreshFamilies('families')
    disk!.resize('4m')
    await codes.put('code', 'r', ttlSeconds)
    await families.start('family', { grant: {}, current: 'a', absoluteExpiry: now + 1e9 }, 1e6)
    disk!.fill()

    const rotation = { presented: 'a', successor: { hash: 'b', salt: 's' }, idleTtlSeconds: 1e6 }
    await expect(codes.redeem('code')).rejects.toSatisfy(certainlyNot)
    await expect(families.rotate('family', rotation)).rejects.toSatisfy(certainlyNot)
    await expect(backend.ping(new AbortController().signal)).rejects.toSatisfy(certainlyNot)
    expect(await codes.find('code')).toBe('r')
    expect((await families.find('family'))?.current).toBe('a')

    disk!.free()
    expect(await codes.redeem('code')).toEqual({ outcome: 'won', record: 'r' })
    expect((await families.rotate('family', rotation)).outcome).toBe('won')
    await backend.ping(new AbortController().signal)
  })

  it('cannot be opened on, and says so', async () => {
    disk!.fill()
    const opening = openEmbedded({ path: join(disk!.path, 'another'), clock, component: 'storage.records' })
    await expect(opening).rejects.toMatchObject({ name: 'Unavailable', component: 'storage.records', applied: 'no' })
    disk!.free()
  })
})
