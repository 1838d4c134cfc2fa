import { migrateStores } from '../collections/store-schemas.js'
import { openStores } from '../collections/stores.js'
import { readDeployment, type DeploymentOptions } from './deployment.js'
import { print, printJson } from './output.js'

export interface MigrateOptions extends DeploymentOptions {
  readonly json?: true
  readonly searchIndex?: true
}

/**
 * Implements `signet migrate`. It creates what the stores need besides records, including a missing embedded store,
 * and prints what it has created. The service may run at the same time.
 */
export const migrate = async (options: MigrateOptions): Promise<void> => {
  await using stores = await openStores(await readDeployment(options), Date.now)
  const done = await migrateStores(stores, options.searchIndex === true)
  if (options.json) return printJson({ done })
  for (const line of done) print(line)
  if (done.length === 0) print('The stores have everything they need.')
}
