import type { z } from 'zod'
import { defineStorage } from '../../core/api/storage.js'
import { embeddedOptions } from './options.js'
import { isMissing } from './store-file.js'

/** LMDB in a directory of this host. */
export default defineStorage<z.infer<typeof embeddedOptions>>({
  name: 'embedded',
  apiVersion: 1,
  contract: 4,
  options: embeddedOptions,
  async open(options, services) {
    const { openEmbedded } = await import('./open-embedded.js')
    return openEmbedded({ ...options, ...services })
  },
  findMissing: ({ path }) => (isMissing(path) ? path : undefined),
})
