import { expect, it } from 'vitest'
import { openConnection } from '../../stores/redis/connection.js'
import { describeWith } from '../support/services/describe-with.js'
import { startRedis } from '../support/stores/redis/server.js'
import { startSentinelDouble } from '../support/stores/redis/sentinel-double.js'

describeWith('redis', 'a connection by sentinels', () => {
  it('F04 comes back when it hears of another primary while it asks for the primary', { timeout: 30_000 }, async () => {
    await using primary = await startRedis()
    await using sentinel = await startSentinelDouble(primary.port)
    const uri = `redis://127.0.0.1:${String(sentinel.port)}`
    const options = { uri, key_prefix: 'signet:', sentinel: { name: 'signet', nodes: [] } }
    const connection = await openConnection({ options, clock: Date.now, component: 'storage.ephemeral' })
    try {
      await connection.ping()
      await sentinel.subscribed
      const asked = sentinel.holdAnswers()
      await primary.command('CLIENT', 'KILL', 'TYPE', 'normal')
      await asked
      await sentinel.tellSwitched()
      sentinel.release()
      await expect.poll(() => connection.ping().then(() => 'up', String), { timeout: 10_000 }).toBe('up')
    } finally {
      await connection.close()
    }
  })
})
