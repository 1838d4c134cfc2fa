import { beforeAll, expect, it } from 'vitest'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { startRedis, type RedisServer } from '../support/stores/redis/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { expectNoHarm, startStoresLoad, type StoresLoad } from '../support/load/stores-load.js'

// F05: Redis would forget what was used, or has no room for more.

const withoutInfo = ['~signet:*', '+@all', '-@dangerous', '-@admin']

describeWith('redis', 'Redis evicts, is full, or does not tell', () => {
  const keep = disposeAfterAll()
  let server: RedisServer
  let load: StoresLoad
  beforeAll(async () => {
    server = keep(await startRedis())
    load = keep(await startStoresLoad({ options: { uri: server.uri() } }))
  })

  const expectReady = async (value: 0 | 1): Promise<void> => {
    const metrics = await load.metrics()
    for (const series of ['signet_ready', 'signet_component_up{component="storage.ephemeral"}'])
      expect(metrics).toContain(`\n${series} ${value}\n`)
    expect(metrics).toContain('\nsignet_component_up{component="storage.records"} 1\n')
  }

  const expectHealed = async () => {
    await expect.poll(() => load.ready(), { timeout: 5000 }).toBe(true)
    await expectReady(1)
    await expect.poll(() => load.ask('proof'), { timeout: 5000 }).toBe(200)
    await expect.poll(() => load.ask('assertion'), { timeout: 5000 }).toBe(200)
    await expectNoHarm(load)
  }

  it('is not used while its policy is another', { timeout: 30_000 }, async () => {
    await load.run(100, 300)
    for (const policy of ['allkeys-lru', 'volatile-ttl']) {
      await server.command('CONFIG', 'SET', 'maxmemory-policy', policy)
      await expect.poll(() => load.ready(), { timeout: 5000 }).toBe(false)
      expect((await load.health()).message).toContain(`has maxmemory-policy ${policy}`)
      await expectReady(0)
      expect(await load.ask('proof')).toBe(503)
      expect(await load.ask('assertion')).toBe(503)
      await expect.poll(() => load.ask('machine'), { timeout: 5000 }).toBe(200)
      expect(await load.replay()).toBe(0)
      await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
      await expectHealed()
    }
  })

  it('refuses when it is full, forgets nothing, and resumes when there is space', { timeout: 30_000 }, async () => {
    await load.run(100, 300)
    await server.command('CONFIG', 'SET', 'maxmemory', '1mb')
    await load.run(100, 1000)
    expect(load.answers.get('proof 503')).toBeGreaterThan(0)
    await expect.poll(async () => (await load.health()).message, { timeout: 5000 }).toMatch(/is full: maxmemory/)
    expect(await load.replay()).toBe(0)
    await server.command('CONFIG', 'SET', 'maxmemory', '0')
    await expectHealed()
  })

  it('has to be vouched for where the account may not ask', { timeout: 30_000 }, async () => {
    await server.command('ACL', 'SETUSER', 'signet', 'on', '>pa55-w0rd', ...withoutInfo)
    const uri = server.uri().replace('redis://', 'redis://signet:pa55-w0rd@')
    const silent = await startStoresLoad({ options: { uri }, settled: false })
    await expect.poll(async () => (await silent.health()).status, { timeout: 5000 }).toBe('down')
    expect((await silent.health()).message).toMatch(/does not report maxmemory-policy.*eviction_policy_acknowledged/)
    expect(await silent.ask('proof')).toBe(503)
    await silent[Symbol.asyncDispose]()

    const vouched = await startStoresLoad({
      options: { uri, eviction_policy_acknowledged: 'noeviction' },
      settled: false,
    })
    await expect.poll(() => vouched.ready(), { timeout: 5000 }).toBe(true)
    await vouched.run(100, 300)
    expect(vouched.answers.get('proof 200')).toBeGreaterThan(0)
    // A loss is noticed without leave to ask who the server is.
    await server.kill()
    await server.start()
    expect(await vouched.replay()).toBe(0)
    await vouched[Symbol.asyncDispose]()
  })
})
