import { indexPrincipals } from '../attestation/index-principals.js'
import { openAccountStore } from '../interaction/accounts.js'
import type { StorageSchema } from '../storage/ports.js'
import { collections } from './collections.js'
import { openQuotaStates } from './quotas.js'
import { indexForSearch } from './searched.js'
import type { Stores } from './stores.js'

/**
 * Returns what the collections of this deployment need in its stores, by the name of the role. There is one entry
 * where both roles use one backend.
 */
export const schemasOf = (stores: Stores): ReadonlyMap<string, StorageSchema> => {
  // A schema knows only the collections that were requested.
  collections(stores)
  openAccountStore(stores.records)
  openQuotaStates(stores)
  const { records, ephemeral } = stores
  const schemas = new Map<string, StorageSchema>()
  if (records.schema) schemas.set('storage.records', records.schema)
  if (ephemeral.schema && ephemeral.schema !== records.schema) schemas.set('storage.ephemeral', ephemeral.schema)
  return schemas
}

/** The entry in `migrations` that marks the index of principals as complete. */
export const principalMigration = 'principal_index'

/** Migrates principals of versions that kept no index by their subjects. */
const migratePrincipals = async (stores: Stores): Promise<readonly string[]> => {
  const { migrations, ...collected } = collections(stores)
  if ((await migrations.find(principalMigration)) !== undefined) return []
  const count = await indexPrincipals(collected)
  await migrations.put(principalMigration, { done: true })
  return count === 0 ? [] : [`${principalMigration}: ${String(count)} principals can be found by their subject`]
}

const searchMigration = 'search_index'

/** Indexes clients and people of versions that had no search. */
const migrateSearch = async (stores: Stores, again: boolean): Promise<readonly string[]> => {
  const { migrations } = collections(stores)
  if (!again && (await migrations.find(searchMigration)) !== undefined) return []
  const count = await indexForSearch(stores.records)
  await migrations.put(searchMigration, { done: true })
  return count === 0 ? [] : [`${searchMigration}: ${String(count)} clients and people can be found by their words`]
}

/**
 * Creates what is missing, and returns a line for each step that was taken. `again`: completes the index of searches
 * although it was made before. Throws `Unavailable`.
 */
export const migrateStores = async (stores: Stores, again = false): Promise<readonly string[]> => {
  const done: string[] = []
  for (const schema of schemasOf(stores).values()) done.push(...(await schema.migrate()))
  return [...done, ...(await migratePrincipals(stores)), ...(await migrateSearch(stores, again))]
}
