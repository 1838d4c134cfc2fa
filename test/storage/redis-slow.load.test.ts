import { setTimeout as after } from 'node:timers/promises'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { openFaultProxy, type FaultProxy } from '../support/stores/fault-proxy.js'
import { startRedis, type RedisServer } from '../support/stores/redis/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { expectNoHarm, startStoresLoad, type StoresLoad } from '../support/load/stores-load.js'

// F02, F03: Redis hangs, is slow, loses answers, or its connections break, under 200 mixed requests a second.

const perSecond = 200
const hangMs = Number(process.env['SIGNET_HANG_MS'] ?? 3000)

describeWith('redis', 'Redis without losing its memory', () => {
  const keep = disposeAfterAll()
  let server: RedisServer
  let proxy: FaultProxy
  let load: StoresLoad
  beforeAll(async () => {
    server = keep(await startRedis())
    proxy = keep(await openFaultProxy({ port: server.port }))
    load = keep(await startStoresLoad({ options: { uri: server.uri(proxy.port) } }))
    await load.run(perSecond, 500)
  })
  afterEach(async () => {
    await proxy.heal()
    // What it remembers is what it remembered: there is nothing to wait for.
    await expect.poll(() => load.ask('assertion'), { timeout: 5000 }).toBe(200)
    await expect.poll(() => load.ask('proof'), { timeout: 5000 }).toBe(200)
    await expect.poll(() => load.ready(), { timeout: 5000 }).toBe(true)
    await load.run(perSecond, 500)
    await expectNoHarm(load)
    expect(load.slowest()).toBeLessThan(1000 + load.noise())
  })

  const refused = () => (load.answers.get('proof 503') ?? 0) + (load.answers.get('assertion 503') ?? 0)

  it(`hangs for ${hangMs} ms`, { timeout: 30_000 + hangMs }, async () => {
    const before = refused()
    server.suspend()
    const hanging = load.run(perSecond, hangMs)
    await expect.poll(() => load.ready(), { timeout: 5000 }).toBe(false)
    expect((await load.health()).message).toMatch(/no answer in time|connection is down/)
    expect(proxy.connections()).toBeLessThanOrEqual(4)
    await hanging
    server.resume()
    expect(refused()).toBeGreaterThan(before)
    console.log(
      `hung ${hangMs} ms: slowest answer ${Math.round(load.slowest())} ms, of others ${Math.round(load.noise())} ms, ${refused() - before} refused`,
    )
  })

  it('swallows everything', { timeout: 30_000 }, async () => {
    const before = refused()
    proxy.faults.blackHole = true
    await load.run(perSecond, 1500)
    expect(refused()).toBeGreaterThan(before)
  })

  it.each([
    [100, 'is waited for'],
    [400, 'is too slow'],
  ])('is %i ms away each way, which %s', { timeout: 30_000 }, async (latencyMs, what) => {
    const [before, served] = [refused(), load.answers.get('proof 200') ?? 0]
    proxy.faults.latencyMs = latencyMs
    await load.run(perSecond, 1500)
    if (what === 'is waited for') expect(load.answers.get('proof 200')).toBeGreaterThan(served)
    else expect(refused()).toBeGreaterThan(before)
  })

  it('has its connections cut again and again', { timeout: 30_000 }, async () => {
    const before = refused()
    const cutting = (async () => {
      for (let cut = 0; cut < 20; cut += 1) {
        proxy.cut()
        await after(100)
      }
    })()
    await load.run(perSecond, cutting)
    expect(refused()).toBeGreaterThan(before)
  })

  it('executes a command whose answer is lost: the claim counts', { timeout: 30_000 }, async () => {
    const before = refused()
    let lost = 0
    proxy.faults.onRequest = (message) => {
      if (!/evalsha/i.test(message.toString('latin1')) || Math.random() > 0.2) return 'forward'
      lost += 1
      return 'lose-reply'
    }
    await load.run(perSecond, 1500)
    expect(lost).toBeGreaterThan(0)
    expect(refused()).toBeGreaterThan(before)
  })
})
