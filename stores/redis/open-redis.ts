import { Unavailable, until, type Clock, type EphemeralBackend } from '../../core/api/storage.js'
import { openConnection } from './connection.js'
import { createCounterStore } from './counter-store.js'
import { createOneTimeStore } from './one-time-store.js'
import type { RedisOptions } from './options.js'
import { createRecordLookup } from './record-lookup.js'
import { createReplayGuard } from './replay-guard.js'

export interface RedisSettings extends RedisOptions {
  readonly clock: Clock
  /** Its name in `Unavailable`: `storage.ephemeral`. */
  readonly component?: string
}

/**
 * The ephemeral store of several hosts: Redis 7 or later as one server, with sentinels, or as a cluster. Resolves
 * even while it cannot be reached; until then everything throws `Unavailable`.
 */
export const openRedis = async (settings: RedisSettings): Promise<EphemeralBackend> => {
  const { clock, component = 'storage.redis', ...options } = settings
  const connection = await openConnection({ options, clock, component })
  const nameOf = (name: string): string => {
    if (!/^[a-z_]+$/.test(name)) throw new Error(`Not a name of a collection: ${name}`)
    return options.key_prefix + name
  }

  return {
    oneTime: <T>(name: string) => createOneTimeStore<T>(connection, nameOf(name)),
    records: <T>(name: string) => createRecordLookup<T>(connection, nameOf(name)),
    replayGuard: (name) => createReplayGuard(connection, nameOf(name)),
    counters: (name) => createCounterStore(connection, nameOf(name)),
    room: {
      capacity: () => connection.capacity() ?? (options.max_size_mb ?? 1024) * 1024 * 1024,
      // Measured on Redis 7.0: keys have one length, jemalloc rounds up by at most a quarter, and tables grow by
      // doubling.
      footprint: (_, recordBytes) => 250 + 1.25 * recordBytes,
    },
    describe: connection.describe,
    ping: (signal) => until(signal, connection.ping, () => new Unavailable(component, 'unknown', 'no answer in time')),
    [Symbol.asyncDispose]: connection.close,
  }
}
