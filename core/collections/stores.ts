import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { ConfigurationError } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import { revealOptions } from '../../config/substitute.js'
import type { Clock } from '../clock.js'
import { loadStore, type LoadedStore, type StoreChoice, type StoreRole } from '../modules/load-store.js'
import { BadOption } from '../storage/bad-option.js'
import { withCheckedAnswers } from '../storage/checked-answers.js'
import type { EphemeralBackend, StorageBackend } from '../storage/ports.js'
import { withSearchIndex } from '../storage/search-index.js'
import type { Quotas } from './quotas.js'
import { searchedCollections } from './searched.js'

/** The two storage roles. Both may be one backend. */
export interface Stores extends AsyncDisposable {
  readonly records: StorageBackend
  readonly ephemeral: EphemeralBackend
  /** The quota of each class of short-lived entries. It is absent for commands, because operators are not limited. */
  readonly shares?: Quotas
}

/** Secrets are compared by what they hide, because two that look alike may differ. */
const isSame = (left: LoadedStore<unknown>, right: LoadedStore<unknown>): boolean =>
  left.file === right.file && isDeepStrictEqual(revealOptions(left.options), revealOptions(right.options))

/** Loads the store of a role. Throws `ConfigurationError`. */
const load = async <Role extends StoreRole>({ storage }: Pick<Config, 'storage'>, role: Role) => {
  const { store, problems } = await loadStore(storage[role], role)
  if (store === undefined) throw new ConfigurationError(problems)
  return store
}

const open = async <Backend extends EphemeralBackend>(
  { module, options, builtIn }: LoadedStore<Backend>,
  role: StoreRole,
  clock: Clock,
): Promise<Backend> => {
  const component = `storage.${role}`
  try {
    const backend = await module.open(options, { clock, component })
    // The contract is tested on the built-in stores with each change, so their answers are not checked.
    return builtIn ? backend : withCheckedAnswers(backend, component)
  } catch (error) {
    if (!(error instanceof BadOption)) throw error
    throw new ConfigurationError([{ path: `${component}.options.${error.option}`, message: error.message }])
  }
}

/**
 * The embedded store is in this process, so it is as fast as a cache, and its atomicity does not depend on another
 * program.
 */
export const isEmbedded = ({ use }: StoreChoice): boolean => use === 'embedded' || use === 'stores/embedded'

/** A store that `openStores` would create. */
export interface MissingStore {
  readonly component: string
  /** The absolute path. */
  readonly path: string
}

/** Returns undefined when both stores exist, or create what they lack themselves. Throws `ConfigurationError`. */
export const findMissingStore = async (config: Pick<Config, 'storage'>): Promise<MissingStore | undefined> => {
  for (const role of ['records', 'ephemeral'] as const) {
    const { module, options } = await load(config, role)
    const path = module.findMissing?.(options)
    if (path !== undefined) return { component: `storage.${role}`, path: resolve(path) }
  }
  return undefined
}

/**
 * Opens what `storage` names, and one backend where both roles name the same. No query is sent to a store behind a
 * network yet. Throws `ConfigurationError`, `Unavailable`.
 */
export const openStores = async (config: Pick<Config, 'storage'>, clock: Clock): Promise<Stores> => {
  const [lasting, shortLived] = [await load(config, 'records'), await load(config, 'ephemeral')]
  const opened = await open(lasting, 'records', clock)
  const records = withSearchIndex(opened, searchedCollections, clock)
  if (isSame(lasting, shortLived))
    return { records, ephemeral: records, [Symbol.asyncDispose]: () => records[Symbol.asyncDispose]() }
  try {
    const ephemeral = await open(shortLived, 'ephemeral', clock)
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
