import { expect, it } from 'vitest'
import { openFaultProxy } from '../support/stores/fault-proxy.js'
import { startSentinel } from '../support/stores/redis/sentinel.js'
import { startRedis } from '../support/stores/redis/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { expectNoHarm, startStoresLoad } from '../support/load/stores-load.js'

// F04: a replica that missed acknowledged writes becomes the primary.

const perSecond = 100
/** Twice `clock_tolerance_secs`, and a second. */
const fenceMs = 21_000

describeWith('redis', 'Redis fails over to a replica that missed writes', () => {
  it('accepts nothing again that the old one had accepted', { timeout: 90_000 }, async () => {
    await using primary = await startRedis()
    // On the way from the primary to the replica.
    await using link = await openFaultProxy({ port: primary.port })
    await using replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(link.port)] })
    await using sentinel = await startSentinel('signet', primary.port)
    const uri = `redis://127.0.0.1:${String(sentinel.port)}`
    await using load = await startStoresLoad({ options: { uri, sentinel: { name: 'signet', nodes: [] } } })
    await load.run(perSecond, 1000)
    const shared = load.accepted()
    expect(await primary.command('WAIT', 1, 2000)).toBe(1)
    const before = Number(await replica.command('DBSIZE'))

    link.faults.blackHole = true
    await load.run(perSecond, 1000)
    const missed = load.accepted() - shared
    expect(missed).toBeGreaterThan(0)
    await primary.kill()
    await sentinel.switched
    const switchedAt = performance.now()
    // The new primary knows the first ones and not the others: the test would prove nothing otherwise.
    const after = Number(await replica.command('DBSIZE'))
    expect(after).toBeGreaterThanOrEqual(shared)
    expect(after).toBeLessThan(before + missed / 2)

    expect(await load.replay()).toBe(0)
    await expect.poll(() => load.ask('proof'), { timeout: 5000 }).toBe(200)
    const proofsAfter = performance.now() - switchedAt
    expect(await load.replay()).toBe(0)
    expect(await load.ask('assertion')).toBe(503)
    await expect.poll(() => load.ready(), { timeout: 5000 }).toBe(true)
    load.host.later(fenceMs)
    expect(await load.replay()).toBe(0)
    await expect.poll(() => load.ask('assertion'), { timeout: 5000 }).toBe(200)
    await load.run(perSecond, 1000)
    await expectNoHarm(load)
    console.log(
      `${shared} accepted and replicated, ${missed} lost in the fail-over, 0 accepted again; ` +
        `proofs accepted ${Math.round(proofsAfter)} ms after it; slowest answer ${Math.round(load.slowest())} ms`,
    )
  })
})
