import type { Config } from '../../config/schema.js'
import { readKnownKeys as readFromStores, type KnownKeys } from '../administration/key-forecast.js'
import { findMissingStore } from '../collections/stores.js'
import { Unavailable } from '../unavailable.js'
import { withStores } from './deployment.js'
import { printError } from './output.js'

const none: KnownKeys = { publications: new Map(), slots: new Map(), reports: [] }

/** The plan does not need a store, but is more precise with one. Before the first start nothing was published. */
export const readKnownKeys = async (config: Config): Promise<KnownKeys> => {
  if ((await findMissingStore(config)) !== undefined) return none
  try {
    return await withStores(config, readFromStores)
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    printError(`warning: ${error.component}: ${error.message}: the publication times of the keys are unknown`)
    // Without them, the plan cannot tell what a reload will refuse.
    process.exitCode = 1
    return none
  }
}
