import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EphemeralBackend } from '../../core/storage/ports.js'
import { openRedis } from '../../stores/redis/open-redis.js'
import { scriptsOf } from '../../stores/redis/scripts.js'
import { Unavailable } from '../../core/unavailable.js'
import { startRedis, type RedisServer } from '../support/stores/redis/server.js'
import { describeWith } from '../support/services/describe-with.js'

// What the adapter knows of the memory that it relies on.

const hour = 3_600_000

describeWith('redis', 'the memory of Redis', () => {
  let server: RedisServer
  let now: number
  let opened: EphemeralBackend[]
  const open = async () => {
    const backend = await openRedis({ uri: server.uri(), key_prefix: 'signet:', clock: () => now })
    opened.push(backend)
    return backend
  }
  const ping = (backend: EphemeralBackend) => backend.ping(new AbortController().signal)
  const answers = (backend: EphemeralBackend) =>
    expect
      .poll(
        () =>
          ping(backend).then(
            () => true,
            () => false,
          ),
        { timeout: 5000 },
      )
      .toBe(true)
  const sinceOf = (backend: EphemeralBackend): number => backend.replayGuard('proofs').since?.() ?? NaN
  const claim = (backend: EphemeralBackend, id: string, earliest: number) =>
    backend.replayGuard('proofs').claim('n', id, 60, earliest)

  beforeEach(async () => {
    server = await startRedis()
    now = Date.now()
    opened = []
  })
  afterEach(async () => {
    for (const backend of opened) await backend[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  it('begins with the first process, and others take part in it', async () => {
    const first = await open()
    now += hour
    const second = await open()
    expect(sinceOf(second)).toBe(sinceOf(first))
    expect(sinceOf(first)).toBeLessThan(now)
  })

  it('answers for what cannot have been claimed before it, and for nothing else', async () => {
    const backend = await open()
    const since = sinceOf(backend)
    const id = randomUUID()
    for (const earliest of [0, since - 1, NaN, undefined as unknown as number])
      await expect(claim(backend, id, earliest)).rejects.toSatisfy(
        (error) => error instanceof Unavailable && error.applied === 'no',
      )
    expect(await claim(backend, id, since)).toBe(true)
    expect(await claim(backend, id, since)).toBe(false)
  })

  it.each([
    ['a restart', (): Promise<unknown> => server.kill().then(() => server.start())],
    ['an order to forget everything', (): Promise<unknown> => server.command('FLUSHALL')],
    ['an order to forget the marker alone', (): Promise<unknown> => server.command('DEL', 'signet:memory')],
    ['an order to forget the scripts', (): Promise<unknown> => server.command('SCRIPT', 'FLUSH')],
  ])('ends with %s, for every process and at one time', async (_, lose) => {
    const [first, second] = [await open(), await open()]
    const [before, old] = [sinceOf(first), randomUUID()]
    expect(await claim(first, old, before)).toBe(true)
    await lose()
    now += 1000
    await answers(second)
    await answers(first)
    const after = sinceOf(first)
    expect(after).toBeGreaterThan(before)
    expect(sinceOf(second)).toBe(after)
    for (const backend of [first, second]) await expect(claim(backend, old, before)).rejects.toThrow(Unavailable)
    expect(await claim(first, randomUUID(), after)).toBe(true)
  })

  it.each([
    ['everything', 'FLUSHALL'],
    ['the database', 'FLUSHDB'],
    ['the marker alone', 'DEL', 'signet:memory'],
    ['the marker, for another one', 'SET', 'signet:memory', '1 other'],
  ])(
    'HX04 forgets %s, and of 40 claims and 40 records none is won twice at once',
    async (_, command, ...given: string[]) => {
      const backend = await open()
      const [guard, records] = [backend.replayGuard('proofs'), backend.oneTime<object>('codes')]
      const ids = Array.from({ length: 40 }, () => randomUUID())
      const since = sinceOf(backend)
      const claimAll = () => Promise.allSettled(ids.map((id) => guard.claim('n', id, 60, since)))
      const redeemAll = () => Promise.allSettled(ids.map((id) => records.redeem(id)))
      await Promise.all(ids.map((id) => records.put(id, {}, 60)))
      expect((await claimAll()).every((one) => one.status === 'fulfilled' && one.value)).toBe(true)
      expect((await redeemAll()).every((one) => one.status === 'fulfilled' && one.value.outcome === 'won')).toBe(true)
      await server.command(command, ...given)
      const proofs = async () => ((await server.command('KEYS', 'signet:proofs:*')) as string[]).toSorted()
      const left = await proofs()
      const [claims, redemptions] = await Promise.all([claimAll(), redeemAll()])
      for (const one of claims) expect(one.status === 'rejected' && (one.reason as unknown)).toBeInstanceOf(Unavailable)
      for (const one of redemptions) expect(one.status === 'fulfilled' ? one.value.outcome : one.reason).not.toBe('won')
      expect(await proofs()).toEqual(left)
      expect(sinceOf(backend)).toBeGreaterThan(since)
      expect(await claim(backend, randomUUID(), sinceOf(backend))).toBe(true)
    },
  )

  it('resumes when only the connection was lost', async () => {
    const backend = await open()
    const [before, old] = [sinceOf(backend), randomUUID()]
    expect(await claim(backend, old, before)).toBe(true)
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await answers(backend)
    expect(sinceOf(backend)).toBe(before)
    expect(await claim(backend, old, before)).toBe(false)
  })

  it('knows a server again that stayed behind, and does not believe it', async () => {
    const backend = await open()
    const before = sinceOf(backend)
    const marker = String(await server.command('GET', 'signet:memory'))
    await server.command('DEL', 'signet:memory')
    await ping(backend)
    const after = sinceOf(backend)
    expect(after).toBeGreaterThan(before)
    // As a primary that was cut off comes back: with the marker, and the scripts, of before.
    await server.command('SET', 'signet:memory', marker)
    await ping(backend)
    expect(sinceOf(backend)).toBeGreaterThan(after)
  })

  it('is of another time each time, with a clock that was set back too', async () => {
    const backend = await open()
    const before = sinceOf(backend)
    now -= hour
    await server.command('FLUSHALL')
    await ping(backend)
    expect(sinceOf(backend)).toBeGreaterThan(before)
  })

  it('takes with it what could have been used once; sessions stay', async () => {
    const backend = await open()
    const [codes, sessions] = [backend.oneTime('challenges'), backend.records('sessions')]
    await codes.put('used', 1, 60)
    await codes.put('unused', 1, 60)
    await codes.redeem('used')
    await sessions.put('session', { sid: 1 }, { ttlSeconds: 60 })
    await server.command('SCRIPT', 'FLUSH')
    expect(await codes.redeem('unused')).toEqual({ outcome: 'unknown' })
    for (const id of ['used', 'unused']) {
      expect(await codes.find(id)).toBeUndefined()
      expect(await codes.findUnused(id)).toBeUndefined()
      expect(await codes.redeem(id)).toEqual({ outcome: 'unknown' })
    }
    expect(await sessions.find('session')).toEqual({ sid: 1 })
    await codes.put('new', 1, 60)
    expect(await codes.redeem('new')).toEqual({ outcome: 'won', record: 1 })
  })

  describe('a command that arrives twice', () => {
    const { claim: claimScript, redeem, swap } = scriptsOf('epoch')
    const run = (script: { readonly text: string }, key: string, ...given: readonly (string | number)[]) =>
      server.command('EVAL', script.text, 1, key, ...given)

    it('is not taken for a replay of itself', async () => {
      const [mine, other] = [`${String(now + hour)}.mine`, `${String(now + hour)}.other`]
      expect(await run(claimScript, 'k', mine, 60_000, now)).toBe(1)
      expect(await run(claimScript, 'k', mine, 60_000, now)).toBe(1)
      expect(await run(claimScript, 'k', other, 60_000, now)).toBe(0)
      expect(await server.command('GET', 'k')).toBe(mine)
    })

    it('has won once what it won, and others have not', async () => {
      await server.command('SET', 'k', `${String(now + hour)}.epoch.u0.{}`)
      expect(await run(redeem, 'k', 'epoch', 'mine', now)).toEqual([1, '{}'])
      expect(await run(redeem, 'k', 'epoch', 'mine', now)).toEqual([1, '{}'])
      expect(await run(redeem, 'k', 'epoch', 'other', now)).toEqual([0, '{}'])
    })

    it('counts once', async () => {
      expect(await run(swap, 'k', '', '1 mine', 60_000)).toBe(1)
      expect(await run(swap, 'k', '', '1 mine', 60_000)).toBe(1)
      expect(await run(swap, 'k', '', '1 other', 60_000)).toBe('1 mine')
    })
  })
})
