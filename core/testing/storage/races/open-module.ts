import type { StoreModule } from '../../../modules/contract.js'
import type { StorageBackend } from '../../../storage/ports.js'

/** Opens the store of an adapter's module with the real time. Throws when the options are wrong. */
export const openModule = async (adapter: string, options: unknown): Promise<StorageBackend> => {
  const { default: module } = (await import(adapter)) as { default: StoreModule<unknown, StorageBackend> }
  const given = { clock: Date.now, component: 'storage.records' }
  if (module.options === undefined) return module.open(undefined, given)
  const result = await module.options['~standard'].validate(options ?? {})
  if (result.issues === undefined) return module.open(result.value, given)
  throw new Error(`the options are wrong: ${result.issues.map(({ message }) => message).join('; ')}`)
}
