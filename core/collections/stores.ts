import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { ConfigurationError } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import { revealOptions } from '../../config/substitute.js'
import type { Clock } from '../clock.js'
import { withCheckedAnswers } from '../storage/checked-answers.js'
import { isMissing } from '../storage/embedded/store-file.js'
import type { EphemeralBackend, StorageBackend } from '../storage/ports.js'
import type { Shares } from './shares.js'
import { loadAdapter, type AdapterChoice } from '../modules/load-adapter.js'

/** The two storage roles. Both may be one backend. */
export interface Stores extends AsyncDisposable {
  readonly records: StorageBackend
  readonly ephemeral: EphemeralBackend
  /** What each class of short-lived entries may take. Absent for commands: operators are refused nothing. */
  readonly shares?: Shares
}

type Choices = Config['storage']
type Choice = Choices[keyof Choices]

interface StoreContext {
  readonly clock: Clock
  readonly component: string
}

/** What is wrong with a connection string is found when the store is opened, without asking anybody. */
const withUri = async <B>({ component }: StoreContext, open: () => Promise<B>): Promise<B> => {
  try {
    return await open()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new ConfigurationError([{ path: `${component}.options.uri`, message: error.message }])
  }
}

const openAdapter = async (choice: AdapterChoice, context: StoreContext): Promise<StorageBackend> => {
  const loaded = await loadAdapter(choice, context.component)
  if (loaded.module === undefined) throw new ConfigurationError(loaded.problems)
  return withCheckedAnswers(await loaded.module.open(loaded.options, context), context.component)
}

const openRecords = async (choice: Choices['records'], context: StoreContext): Promise<StorageBackend> => {
  switch (choice.use) {
    case 'embedded': {
      const { openEmbedded } = await import('../storage/embedded/open-embedded.js')
      return openEmbedded({ ...choice.options, ...context })
    }
    case 'mongodb': {
      const { openMongodb } = await import('../storage/mongodb/open-mongodb.js')
      const { uri, ...options } = choice.options
      return withUri(context, () => openMongodb({ ...options, ...context, uri: uri.reveal() }))
    }
    case 'adapter':
      return openAdapter(choice, context)
  }
}

const openEphemeral = async (choice: Choices['ephemeral'], context: StoreContext): Promise<EphemeralBackend> => {
  if (choice.use !== 'redis') return openRecords(choice, context)
  const { openRedis } = await import('../storage/redis/open-redis.js')
  const { uri, sentinel, ...options } = choice.options
  const password = sentinel?.password?.reveal()
  return openRedis({ ...options, ...context, uri: uri.reveal(), sentinel: sentinel && { ...sentinel, password } })
}

/** Secrets are compared by what they hide: two that look alike need not be. */
const isSame = (left: Choice, right: Choice): boolean => isDeepStrictEqual(revealOptions(left), revealOptions(right))

/** An embedded store that `openStores` would create. */
export interface MissingStore {
  readonly component: string
  /** From the root of the file system. */
  readonly path: string
}

/** Undefined when every embedded store is there; others make themselves what they lack. */
export const findMissingStore = ({ storage }: Pick<Config, 'storage'>): MissingStore | undefined => {
  for (const role of ['records', 'ephemeral'] as const) {
    const choice = storage[role]
    if (choice.use === 'embedded' && isMissing(choice.options.path))
      return { component: `storage.${role}`, path: resolve(choice.options.path) }
  }
  return undefined
}

/**
 * Opens what `storage` names, one backend where both roles name the same. A store behind a network is not asked yet.
 * Throws `ConfigurationError`, `Unavailable`.
 */
export const openStores = async ({ storage }: Pick<Config, 'storage'>, clock: Clock): Promise<Stores> => {
  const contextFor = (role: keyof Choices): StoreContext => ({ clock, component: `storage.${role}` })
  const records = await openRecords(storage.records, contextFor('records'))
  if (isSame(storage.records, storage.ephemeral)) {
    return { records, ephemeral: records, [Symbol.asyncDispose]: () => records[Symbol.asyncDispose]() }
  }
  try {
    const ephemeral = await openEphemeral(storage.ephemeral, contextFor('ephemeral'))
    return {
      records,
      ephemeral,
      [Symbol.asyncDispose]: async () => {
        await ephemeral[Symbol.asyncDispose]()
        await records[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    await records[Symbol.asyncDispose]()
    throw error
  }
}
