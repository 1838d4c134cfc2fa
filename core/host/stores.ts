import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import { openEmbedded } from '../storage/embedded/open-embedded.js'
import type { StorageBackend } from '../storage/ports.js'

/** The two storage roles. Both may be one backend. */
export interface Stores extends AsyncDisposable {
  readonly records: StorageBackend
  readonly ephemeral: StorageBackend
}

type Choice = Config['storage']['records' | 'ephemeral']

type Adapters = {
  readonly [Use in Choice['use']]: (
    options: Extract<Choice, { readonly use: Use }>['options'],
    given: { readonly clock: Clock; readonly component: string },
  ) => Promise<StorageBackend>
}

/** By the word that `storage.*.use` has for it. */
const adapters: Adapters = {
  embedded: (options, given) => openEmbedded({ ...options, ...given }),
}

/** Opens what `storage` names, one backend where both roles name the same. Throws `Unavailable`. */
export const openStores = async ({ storage }: Pick<Config, 'storage'>, clock: Clock): Promise<Stores> => {
  const open = (role: keyof typeof storage): Promise<StorageBackend> => {
    const { use, options } = storage[role]
    return adapters[use](options, { clock, component: `storage.${role}` })
  }
  const records = await open('records')
  if (isDeepStrictEqual(storage.records, storage.ephemeral)) {
    return { records, ephemeral: records, [Symbol.asyncDispose]: () => records[Symbol.asyncDispose]() }
  }
  try {
    const ephemeral = await open('ephemeral')
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
