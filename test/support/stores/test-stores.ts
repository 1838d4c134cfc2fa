import { createHash } from 'node:crypto'
import type { Clock } from '../../../core/clock.js'
import { migrateStores } from '../../../core/collections/store-schemas.js'
import { openStores } from '../../../core/collections/stores.js'
import { openEmbedded } from '../../../stores/embedded/open-embedded.js'
import { openMongodb } from '../../../stores/mongodb/open-mongodb.js'
import type { StorageBackend } from '../../../core/storage/ports.js'
import { Unavailable } from '../../../core/unavailable.js'
import type { Config } from '../../../config/schema.js'
import { revealOptions } from '../../../config/substitute.js'
import type { RedisOptions } from '../../../stores/redis/options.js'
import { settleRedis } from './redis/settle.js'

/** Servers that a whole run shares; each test server has a database and a prefix of its own in them. */
export interface SharedStores {
  readonly mongodb: string
  readonly redis: string
  /** What all names of the run begin with. */
  readonly run: string
}

const variable = 'SIGNET_TEST_STORES'

/** For the processes of the tests, before they start. */
export const shareStores = (shared: SharedStores | undefined): void => {
  if (shared === undefined) Reflect.deleteProperty(process.env, variable)
  else process.env[variable] = JSON.stringify(shared)
}

/** Set where the tests run on MongoDB and Redis. */
const sharedStores = (): SharedStores | undefined => {
  const value = process.env['SIGNET_TEST_ON'] === 'mongodb+redis' ? process.env[variable] : undefined
  return value === undefined ? undefined : (JSON.parse(value) as SharedStores)
}

const embedded = (path: string) => ({ use: 'embedded', options: { path } })

const nameOf = ({ run }: SharedStores, path: string): string =>
  `${run}_${createHash('sha256').update(path).digest('hex').slice(0, 12)}`

/** The section `storage` of a server whose store would be in `path`; the same for the same path. */
export const testStorage = (path: string): Record<'records' | 'ephemeral', unknown> => {
  const shared = sharedStores()
  if (shared === undefined) return { records: embedded(path), ephemeral: embedded(path) }
  const name = nameOf(shared, path)
  return {
    records: { use: 'mongodb', options: { uri: shared.mongodb, database: name } },
    ephemeral: { use: 'redis', options: { uri: shared.redis, key_prefix: `${name}:` } },
  }
}

/** The records of a server whose store would be in `path`. */
export const openTestRecords = (path: string, clock: Clock): Promise<StorageBackend> => {
  const shared = sharedStores()
  return shared === undefined
    ? openEmbedded({ path, clock })
    : openMongodb({ uri: shared.mongodb, database: nameOf(shared, path), clock })
}

/** Tries again while there is an outage: a machine that has too much to do makes servers late. */
export const patiently = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let left = 20; ; left--) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Unavailable) || left === 0) throw error
    }
  }
}

/** What an operator does before the first start. `doubles` may ask the records for what is in the ephemeral store otherwise. */
export const migrateForTest = async (config: Config, doubles: boolean): Promise<void> => {
  await using stores = await openStores(config, Date.now)
  await patiently(() => migrateStores(stores))
  if (doubles) await patiently(() => migrateStores({ ...stores, ephemeral: stores.records }))
}

/** Stores as a first start finds them; Redis is one that has remembered for an hour. */
export const prepareStores = async (config: Config, doubles = false): Promise<void> => {
  if (sharedStores() === undefined) return
  const { ephemeral } = config.storage
  if (ephemeral.use === 'redis') {
    await settleRedis(revealOptions(ephemeral.options) as RedisOptions)
  }
  await migrateForTest(config, doubles)
}
