import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openRedis } from '../../stores/redis/open-redis.js'
import { startCluster, type RedisCluster } from '../support/stores/redis/cluster.js'
import { settleRedis } from '../support/stores/redis/settle.js'
import { describeWith } from '../support/services/describe-with.js'
import { ephemeralContract } from '../support/stores/storage-contract.js'

describeWith('redis', 'a cluster of Redis', () => {
  let cluster: RedisCluster
  const options = () => ({ uri: cluster.uri, cluster: { nodes: [] }, key_prefix: 'signet:' })
  const open = (clock: () => number) => openRedis({ ...options(), clock })
  beforeAll(async () => {
    cluster = await startCluster(3)
    await settleRedis(options())
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  ephemeralContract('redis in a cluster', open)

  it('reports all its primaries', async () => {
    await using backend = await open(Date.now)
    expect(await backend.describe?.()).toMatch(/^Redis [\d.]+, cluster, 3 primaries, noeviction$/)
  })

  it('spreads its keys; refuses what a restarted primary may have forgotten', async () => {
    await using backend = await open(Date.now)
    const guard = backend.replayGuard('proofs')
    const claimed = Date.now()
    const ids = Array.from({ length: 300 }, () => randomUUID())
    const claim = (id: string) => guard.claim('n', id, 600, claimed)
    expect(await Promise.all(ids.map(claim))).toEqual(ids.map(() => true))
    const sizes = await Promise.all(cluster.nodes.map((node) => node.command('DBSIZE')))
    for (const size of sizes) expect(size).toBeGreaterThan(50)

    const [, second] = cluster.nodes
    await second?.kill()
    await second?.start()
    const outcome = (id: string) => claim(id).then(String, () => 'refused')
    // Until the cluster is whole again some are refused because it is not; afterwards because of what it may have forgotten.
    const again = async () => new Set(await Promise.all(ids.map(outcome)))
    for (let round = 0; round < 20; round += 1) expect(await again()).not.toContain('true')
    await expect
      .poll(() => guard.claim('n', randomUUID(), 600, Infinity).catch(() => false), { timeout: 20_000 })
      .toBe(true)
    await expect
      .poll(
        () =>
          backend.ping(new AbortController().signal).then(
            () => true,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true)
    expect(await again()).toEqual(new Set(['refused']))
    expect(guard.since?.()).toBeGreaterThan(claimed)
  })
})
