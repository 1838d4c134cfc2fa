import type { Config } from '../../../config/schema.js'

/** An entry of `keys` that names one key. */
export type KeyEntry = Exclude<Config['keys'][number], { readonly slot: string }>

/** One key of the inventory, with the path of its entry in the configuration. */
export type InventoryEntry = KeyEntry & { readonly path: string }
