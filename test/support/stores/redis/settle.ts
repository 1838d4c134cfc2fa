import { openRedis } from '../../../../stores/redis/open-redis.js'
import type { RedisOptions } from '../../../../stores/redis/options.js'

/** Makes a Redis one that has remembered for an hour, so that nothing is refused for what may have been before. */
export const settleRedis = async (options: RedisOptions): Promise<void> => {
  await using first = await openRedis({ ...options, clock: () => Date.now() - 3_600_000 })
  await first.ping(new AbortController().signal)
}
