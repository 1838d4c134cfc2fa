import { Secret } from '../../../../config/secret.js'
import { migrateStores } from '../../../../core/collections/store-schemas.js'
import { openStores } from '../../../../core/collections/stores.js'
import { patiently } from '../test-stores.js'

/** As an operator does before the first start. */
export const migrateMongo = async (uri: string, database: string): Promise<void> => {
  const backend = {
    use: 'mongodb',
    directory: '.',
    options: { uri: new Secret(uri), database, max_pool_size: 5, max_size_mb: 1024 },
  } as const
  await using stores = await openStores({ storage: { records: backend, ephemeral: backend } }, Date.now)
  await patiently(() => migrateStores(stores))
}
