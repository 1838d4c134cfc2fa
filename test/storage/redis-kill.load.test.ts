import { expect, it } from 'vitest'
import { startRedis } from '../support/stores/redis/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { expectNoHarm, startStoresLoad } from '../support/load/stores-load.js'

// F01, F06: Redis is killed under 200 mixed requests a second, stays away, and comes back empty.

const perSecond = 200
/** Twice `clock_tolerance_secs`, and a second. */
const fenceMs = 21_000

describeWith('redis', 'Redis is killed and comes back empty', () => {
  it('costs 503 where Redis is needed, and lets nothing pass twice', { timeout: 60_000 }, async () => {
    await using server = await startRedis()
    await using load = await startStoresLoad({ options: { uri: server.uri() } })
    await load.run(perSecond, 2000)
    for (const kind of ['machine', 'code', 'proof', 'assertion'])
      expect(load.answers.get(`${kind} 200`)).toBeGreaterThan(0)
    expect(await load.replay()).toBe(0)

    const killed = server.kill()
    await load.run(perSecond, 2000)
    await killed
    expect(load.answers.get('proof 503')).toBeGreaterThan(0)
    expect(load.answers.get('assertion 503')).toBeGreaterThan(0)
    await expect.poll(() => load.ready(), { timeout: 5000 }).toBe(false)
    expect((await load.health()).message).toMatch(/^redis 127\.0\.0\.1:\d+: /)
    expect(await load.replay()).toBe(0)

    await server.start()
    const back = performance.now()
    // At once, while it is found out that this is another memory, and afterwards.
    expect(await load.replay()).toBe(0)
    await expect.poll(() => load.ask('proof'), { timeout: 5000 }).toBe(200)
    const proofsAfter = performance.now() - back
    await expect.poll(() => load.ready(), { timeout: 5000 }).toBe(true)
    const readyAfter = performance.now() - back
    expect(await load.replay()).toBe(0)
    // An assertion of this moment may have been accepted before: it is refused, and so is all that was.
    expect(await load.ask('assertion')).toBe(503)
    await load.run(perSecond, 1000)
    load.host.later(fenceMs)
    expect(await load.replay()).toBe(0)
    await expect.poll(() => load.ask('assertion'), { timeout: 5000 }).toBe(200)
    await load.run(perSecond, 1000)
    await expectNoHarm(load)
    expect(load.slowest()).toBeLessThan(1000 + load.noise())
    console.log(
      `${load.ledger.entries.length} requests, ${load.accepted()} proofs and assertions accepted, 0 twice; slowest answer ` +
        `${Math.round(load.slowest())} ms; proofs again after ${Math.round(proofsAfter)} ms, ready after ${Math.round(readyAfter)} ms`,
      Object.fromEntries(load.answers),
    )
  })
})

describeWith('redis', 'Redis is emptied while it runs', () => {
  it('HX04 of 40 used proofs and assertions that come again at once none passes', { timeout: 60_000 }, async () => {
    await using server = await startRedis()
    await using load = await startStoresLoad({ options: { uri: server.uri() } })
    for (let count = 0; count < 20; count += 1)
      for (const kind of ['proof', 'assertion'] as const) expect(await load.ask(kind)).toBe(200)
    expect(load.accepted()).toBeGreaterThanOrEqual(40)
    await server.command('FLUSHALL')
    expect(await load.replay()).toBe(0)
    // It goes on, and what was used before the loss still passes at no time.
    await expect.poll(() => load.ask('proof'), { timeout: 5000 }).toBe(200)
    expect(await load.ask('assertion')).toBe(503)
    expect(await load.replay()).toBe(0)
    load.host.later(fenceMs)
    expect(await load.replay()).toBe(0)
    await expect.poll(() => load.ask('assertion'), { timeout: 5000 }).toBe(200)
    await expectNoHarm(load)
  })
})

// F32: the service is started first.
describeWith('redis', 'Redis is not there yet', () => {
  it('serves what needs none, is not ready, and begins when it comes', { timeout: 60_000 }, async () => {
    await using server = await startRedis()
    await server.kill()
    await using load = await startStoresLoad({ options: { uri: server.uri() }, settled: false })
    await expect.poll(async () => (await load.health()).message, { timeout: 5000 }).toMatch(/nothing listens there/)
    expect(await load.ready()).toBe(false)
    for (const kind of ['machine', 'code'] as const)
      await expect.poll(() => load.ask(kind), { timeout: 5000 }).toBe(200)
    for (const kind of ['proof', 'assertion'] as const) expect(await load.ask(kind)).toBe(503)
    await server.start()
    await expect.poll(() => load.ready(), { timeout: 5000 }).toBe(true)
    await expect.poll(() => load.ask('proof'), { timeout: 5000 }).toBe(200)
    // Nobody knows what another Redis of this name had accepted a moment ago.
    expect(await load.ask('assertion')).toBe(503)
    load.host.later(fenceMs)
    await expect.poll(() => load.ask('assertion'), { timeout: 5000 }).toBe(200)
    expect(load.affronts).toEqual([])
  })
})
