import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { collect } from '../../stores/embedded/collector.js'
import { acquireEnvironment } from '../../stores/embedded/environment.js'
import { expiryKey, recordKey } from '../../stores/embedded/key.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { embeddedOptions } from '../../stores/embedded/options.js'
import type { EphemeralBackend, EphemeralReplayGuard } from '../../core/storage/ports.js'
import { Unavailable } from '../../core/unavailable.js'

// What is the embedded store's own: files, sharing within a process, and what another version wrote.

const directory = mkdtempSync(join(tmpdir(), 'signet-embedded-'))
afterAll(() => rmSync(directory, { recursive: true }))
const clock = Date.now
const mode = (...path: string[]) => statSync(join(directory, ...path)).mode & 0o777

describe('the files of the embedded store', () => {
  it('are for its owner alone', async () => {
    await using backend = await openEmbedded({ path: join(directory, 'new', 'store.d'), clock })
    await backend.records('clients').put('a', 1)
    expect(mode('new')).toBe(0o700)
    expect(mode('new', 'store.d')).toBe(0o700)
    expect(mode('new', 'store.d', 'data.mdb')).toBe(0o600)
    expect(mode('new', 'store.d', 'lock.mdb')).toBe(0o600)
  })

  it('are not where there is no directory to be', async () => {
    const opening = openEmbedded({ path: '/dev/null/store', clock, component: 'storage.records' })
    await expect(opening).rejects.toMatchObject({ name: 'Unavailable', component: 'storage.records', applied: 'no' })
  })
})

describe('the options of the embedded store', () => {
  it('have defaults and refuse what is unknown', () => {
    expect(embeddedOptions.parse({})).toEqual({ path: './data/store', max_size_mb: 1024 })
    for (const options of [{ pth: 'x' }, { path: '' }, { max_size_mb: 0 }, { max_size_mb: 1.5 }])
      expect(embeddedOptions.safeParse(options).success).toBe(false)
  })

  it('must agree where two roles share a path', async () => {
    const path = join(directory, 'agreed')
    await using backend = await openEmbedded({ path, clock, max_size_mb: 8 })
    await expect(openEmbedded({ path, clock, max_size_mb: 9 })).rejects.toThrow('max_size_mb')
    await backend.ping(new AbortController().signal)
  })

  it('name collections of lower-case letters only', async () => {
    await using backend = await openEmbedded({ path: join(directory, 'names'), clock })
    for (const name of ['', 'a b', 'A', 'a\0', '__proto__.x']) expect(() => backend.records(name)).toThrow()
  })
})

describe('one path in one process', () => {
  it('can be opened, shared, closed and opened again, in any order', async () => {
    const path = join(directory, 'shared')
    const open = () => openEmbedded({ path, clock })
    const [first, second] = await Promise.all([open(), open()])
    await first.records('clients').put('a', 1)
    await first[Symbol.asyncDispose]()
    expect(await second.records('clients').find('a')).toBe(1)
    const closing = second[Symbol.asyncDispose]()
    const third = await open()
    await closing
    expect(await third.records('clients').find('a')).toBe(1)
    await third.records('clients').put('a', 2)
    await third[Symbol.asyncDispose]()
  })
})

describe('a clock that is set back, after what had expired was collected (F23)', () => {
  let now = Date.now()
  const later = (seconds: number) => (now += seconds * 1000)
  const open = async (name: string) => {
    const path = join(directory, name)
    const backend = await openEmbedded({ path, clock: () => now })
    const environment = await acquireEnvironment(path, 1024 * 1024 * 1024)
    return {
      backend,
      collect: async () => {
        while (await collect(environment, now));
      },
      [Symbol.asyncDispose]: async () => {
        await environment.release()
        await backend[Symbol.asyncDispose]()
      },
    }
  }
  const refused = (error: unknown) => error instanceof Unavailable && error.applied === 'no'

  it('answers for no claim that may have been made before', async () => {
    await using store = await open('set-back')
    const guard: EphemeralReplayGuard = (store.backend as EphemeralBackend).replayGuard('claims')
    const plain = store.backend.replayGuard('others')
    const end = now + 60_000
    expect(await guard.claim('n', 'id', 60, now)).toBe(true)
    later(3600)
    await store.collect()
    // Time goes on: nothing that it was of can be in time.
    expect(guard.since?.()).toBe(0)
    expect(await guard.claim('n', 'late', 60, 0)).toBe(true)

    later(-3600)
    await expect(guard.claim('n', 'id', 60, now)).rejects.toSatisfy(refused)
    expect(guard.since?.()).toBe(end)
    await expect(guard.claim('n', 'id', 60, end - 1)).rejects.toSatisfy(refused)
    await expect(guard.claim('n', 'id', 60, NaN)).rejects.toSatisfy(refused)
    expect(await guard.claim('n', 'id', 60, end)).toBe(true)
    // Where nobody says when it could have been used before, it is the time that is left of it.
    await expect(plain.claim('n', 'id', 60)).rejects.toSatisfy(refused)
    expect(await plain.claim('n', 'id', 61)).toBe(true)
    later(61)
    expect(await guard.claim('n', 'new', 60, now)).toBe(true)
    expect(await plain.claim('n', 'new', 10)).toBe(true)
  })

  it('continues where nothing was forgotten, and where clocks differ a little', async () => {
    await using store = await open('set-back-little')
    const guard: EphemeralReplayGuard = (store.backend as EphemeralBackend).replayGuard('claims')
    expect(await guard.claim('n', 'id', 60, now)).toBe(true)
    later(-3600)
    expect(await guard.claim('n', 'id', 60, 0)).toBe(false)
    later(3600 + 60)
    await store.collect()
    later(-30)
    expect(await guard.claim('n', 'other', 60, 0)).toBe(true)
    later(-1)
    await expect(guard.claim('n', 'another', 60, 0)).rejects.toSatisfy(refused)
  })

  it('knows what was revoked, for a day', async () => {
    await using store = await open('set-back-revoked')
    const revocations = store.backend.revocations('revocations')
    await revocations.revoke('grant', 60)
    later(86_400)
    await store.collect()
    expect(await revocations.isRevoked(['grant'])).toBe(false)
    later(-86_400)
    expect(await revocations.isRevoked(['grant'])).toBe(true)
    later(86_460)
    await store.collect()
    later(-86_460)
    expect(await revocations.isRevoked(['grant'])).toBe(false)
  })
})

describe('records of other versions', () => {
  const path = join(directory, 'versions')
  const store = async (text: string) => {
    const environment = await acquireEnvironment(path, 1024 * 1024 * 1024)
    await environment.records.batch(() => void environment.records.put(recordKey('codes', 'id')!, text, 1))
    await environment.release()
  }
  const stored = async () => {
    const environment = await acquireEnvironment(path, 1024 * 1024 * 1024)
    const text = environment.records.get(recordKey('codes', 'id')!)
    await environment.release()
    return JSON.parse(text ?? 'null') as unknown
  }

  it('keep the fields that this version does not know', async () => {
    await using backend = await openEmbedded({ path, clock })
    const expires = clock() + 60_000
    await store(JSON.stringify({ schema: 1, expires, hint: { a: [1] }, record: { sub: 'alice', later: true } }))
    expect((await backend.oneTime('codes').redeem('id')).outcome).toBe('won')
    expect(await stored()).toEqual({
      schema: 1,
      expires,
      hint: { a: [1] },
      record: { sub: 'alice', later: true },
      redeemed: true,
    })
  })

  it('are collected in their time though their index is in whole seconds', async () => {
    const ours = join(directory, 'seconds')
    let now = 1_800_000_000_000
    const environment = await acquireEnvironment(ours, 1024 * 1024 * 1024)
    const { records, expiry } = environment
    const key = recordKey('codes', 'id')!
    const expires = now + 60_500
    const inSeconds = expiryKey(Math.ceil(expires / 1000), key)
    await records.batch(() => {
      void records.put(key, JSON.stringify({ schema: 1, expires, record: 1 }), 1)
      void expiry.put(inSeconds, Buffer.from([1]))
    })
    const collectAll = async () => {
      while (await collect(environment, now));
      return { kept: records.doesExist(key), planned: expiry.getKeysCount() }
    }
    expect(await collectAll()).toEqual({ kept: true, planned: 1 })
    now = expires - 1
    expect(await collectAll()).toEqual({ kept: true, planned: 1 })
    now = expires
    expect(await collectAll()).toEqual({ kept: false, planned: 0 })
    await environment.release()
  })

  it.each([
    ['of a later version', '{"schema":2,"record":1}'],
    ['without a version', '{"record":1}'],
    ['damaged', '{"schema":1,'],
    ['no envelope', 'null'],
  ])('are not guessed at when they are %s', async (_, text) => {
    await using backend = await openEmbedded({ path, clock })
    await store(text)
    const codes = backend.oneTime('codes')
    for (const call of [codes.find('id'), codes.redeem('id'), codes.put('id', 1, 60)])
      await expect(call).rejects.toSatisfy((error) => error instanceof Unavailable && error.applied === 'no')
  })
})

describe('changes to one record at once', () => {
  it('are each decided on the one before, whichever of them share a transaction', async () => {
    await using backend = await openEmbedded({ path: join(directory, 'hot'), clock })
    const records = backend.records<number>('hot')
    const claim = async () => ({ claimed: await records.put('one', 1, { onlyIfAbsent: true }) })
    const remove = async () => ({ removed: await records.remove('one') })
    const outcomes = await Promise.all(
      Array.from({ length: 400 }, (_, index) => (index % 3 === 2 ? remove() : claim())),
    )
    const count = (name: 'claimed' | 'removed') =>
      outcomes.filter((outcome) => name in outcome && Object.values(outcome)[0] === true).length
    expect(count('removed')).toBeGreaterThan(0)
    // Whatever the order: it can be claimed once more than it was removed, and is there exactly then.
    expect(count('claimed') - count('removed')).toBe((await records.find('one')) === undefined ? 0 : 1)
  })

  it('of which one needs no write wait for those that do', async () => {
    await using backend = await openEmbedded({ path: join(directory, 'order'), clock })
    const codes = backend.oneTime<string>('codes')
    await codes.put('a', 'record', 60)
    const outcomes: string[] = []
    const redeem = async () => void outcomes.push((await codes.redeem('a')).outcome)
    await Promise.all(Array.from({ length: 50 }, redeem))
    expect(outcomes).toEqual(['won', ...Array.from({ length: 49 }, () => 'replayed')])
  })
})
