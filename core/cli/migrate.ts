import { migrateStores } from '../collections/store-schemas.js'
import { openStores } from '../collections/stores.js'
import { readDeployment, type DeploymentOptions } from './deployment.js'
import { print, printJson } from './output.js'

export interface MigrateOptions extends DeploymentOptions {
  readonly json?: true
}

/** `signet migrate`: makes what the stores need beside records, an embedded store that is missing too, and says what it has made. The service may run meanwhile. */
export const migrate = async (options: MigrateOptions): Promise<void> => {
  await using stores = await openStores(await readDeployment(options), Date.now)
  const done = await migrateStores(stores)
  if (options.json) return printJson({ done })
  for (const line of done) print(line)
  if (done.length === 0) print('The stores have everything they need.')
}
