import type { Config } from '../../config/schema.js'
import { collections } from '../collections/collections.js'
import { findMissingStore } from '../collections/stores.js'
import { readPublications, type KeyPublications } from '../keys/lifecycle/publications.js'
import type { ReplicaReport, SlotRecord } from '../keys/slots/slot.js'
import { readReports, readSlots } from '../keys/slots/slot-store.js'
import { Unavailable } from '../unavailable.js'
import { withStores } from './deployment.js'
import { printError } from './output.js'

/** The records of keys and slots, as the store had them. */
export interface KnownKeys {
  readonly publications: KeyPublications
  readonly slots: ReadonlyMap<string, SlotRecord>
  readonly reports: readonly ReplicaReport[]
}

const none: KnownKeys = { publications: new Map(), slots: new Map(), reports: [] }

/** The plan does not need a store, but is more precise with one. Before the first start nothing was published. */
export const readKnownKeys = async (config: Config): Promise<KnownKeys> => {
  if ((await findMissingStore(config)) !== undefined) return none
  try {
    return await withStores(config, async (stores) => {
      const { publications, keySlots, replicas } = collections(stores)
      return {
        publications: await readPublications(publications),
        slots: await readSlots(keySlots),
        reports: await readReports(replicas),
      }
    })
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    printError(`warning: ${error.component}: ${error.message}: the publication times of the keys are unknown`)
    // Without them, the plan cannot tell what a reload will refuse.
    process.exitCode = 1
    return none
  }
}
