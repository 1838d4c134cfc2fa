import { openEmbedded } from '../../../../stores/embedded/open-embedded.js'
import { openMongodb } from '../../../../stores/mongodb/open-mongodb.js'
import type { StorageBackend } from '../../../../core/storage/ports.js'
import { openRedis } from '../../../../stores/redis/open-redis.js'
import { breakBackend } from './broken-backend.js'
import type { RaceBackend } from './primitives.js'

/** The store on which processes race; what a process gets on its command line. */
export type RaceStore = (
  | { readonly use: 'embedded'; readonly path: string }
  | { readonly use: 'mongodb'; readonly uri: string; readonly database: string }
  | { readonly use: 'redis'; readonly uri: string; readonly prefix: string }
) & {
  /** Without the atomic predicate. */
  readonly broken?: true
}

type Sound = RaceBackend & Pick<StorageBackend, 'records'> & AsyncDisposable

const serveEphemeral = async (uri: string, key_prefix: string): Promise<Sound> => {
  const redis = await openRedis({ uri, key_prefix, clock: Date.now })
  const refuse = (): never => {
    throw new Error('Redis serves no records')
  }
  return {
    ...redis,
    records: <T>(name: string) => ({ ...redis.records<T>(name), list: refuse, update: refuse }),
    replayGuard: (name) => {
      const guard = redis.replayGuard(name)
      return { claim: (namespace, id, ttlSeconds) => guard.claim(namespace, id, ttlSeconds, Date.now()) }
    },
    refreshFamilies: refuse,
    deviceCodes: refuse,
  }
}

const openSound = (store: RaceStore): Promise<Sound> => {
  const clock = Date.now
  switch (store.use) {
    case 'embedded':
      return openEmbedded({ path: store.path, clock })
    case 'mongodb':
      return openMongodb({ uri: store.uri, database: store.database, clock })
    case 'redis':
      return serveEphemeral(store.uri, store.prefix)
  }
}

export const openRaceStore = async (store: RaceStore): Promise<RaceBackend & AsyncDisposable> => {
  const sound = await openSound(store)
  const backend = store.broken === true ? breakBackend(sound) : sound
  return { ...backend, [Symbol.asyncDispose]: () => sound[Symbol.asyncDispose]() }
}
