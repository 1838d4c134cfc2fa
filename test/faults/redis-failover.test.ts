import { afterAll, beforeAll, expect, it } from 'vitest'
import { openFaultProxy, type FaultProxy } from '../support/fault-proxy.js'
import { startSentinel, type Sentinel } from '../support/redis/sentinel.js'
import { startRedis, type RedisServer } from '../support/redis/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { startRedisLoad, type RedisLoad } from './redis-load.js'

// F04: a replica that missed acknowledged writes becomes the primary.

const perSecond = 100
/** Twice `clock_tolerance_secs`, and a second. */
const fenceMs = 21_000

describeWith('redis', 'Redis fails over to a replica that missed writes', () => {
  let primary: RedisServer
  let replica: RedisServer
  /** On the way from the primary to the replica. */
  let link: FaultProxy
  let sentinel: Sentinel
  let load: RedisLoad
  beforeAll(async () => {
    primary = await startRedis()
    link = await openFaultProxy({ port: primary.port })
    replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(link.port)] })
    sentinel = await startSentinel('signet', primary.port)
    const uri = `redis://127.0.0.1:${String(sentinel.port)}`
    load = await startRedisLoad({ options: { uri, sentinel: { name: 'signet', nodes: [] } } })
  }, 30_000)
  afterAll(async () => {
    await load[Symbol.asyncDispose]()
    await sentinel[Symbol.asyncDispose]()
    await replica[Symbol.asyncDispose]()
    await link[Symbol.asyncDispose]()
    await primary[Symbol.asyncDispose]()
  })

  it('accepts nothing again that the old one had accepted', { timeout: 60_000 }, async () => {
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
    expect(await load.replay()).toBe(0)

    expect(load.affronts).toEqual([])
    expect(await load.darkened()).toBe(0)
    expect(await load.contradictions()).toEqual([])
    console.log(
      `${shared} accepted and replicated, ${missed} lost in the fail-over, 0 accepted again; ` +
        `proofs accepted ${Math.round(proofsAfter)} ms after it; slowest answer ${Math.round(load.slowest())} ms`,
    )
  })
})
