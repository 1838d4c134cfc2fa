import { defineStorage } from '../../core/api/storage.js'
import { redisOptions, type RedisOptions } from './options.js'

/** Redis, which may lose acknowledged data, for several hosts. */
export default defineStorage<RedisOptions>({
  name: 'redis',
  apiVersion: 1,
  contract: 4,
  roles: ['ephemeral'],
  packages: ['ioredis'],
  options: redisOptions,
  async open(options, services) {
    const { openRedis } = await import('./open-redis.js')
    return openRedis({ ...options, ...services })
  },
})
