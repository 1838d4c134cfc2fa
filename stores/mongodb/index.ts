import { z } from 'zod'
import { defineStorage } from '../../core/api/storage.js'

const options = z.strictObject({
  uri: z
    .string()
    .min(1)
    .regex(/^mongodb(\+srv)?:\/\/./, 'must begin with mongodb:// or mongodb+srv://'),
  database: z
    .string()
    .regex(/^[^\0/\\. "$*<>:|?]{1,63}$/, 'must be a name of a database: 1 to 63 characters, none of /\\. "$*<>:|?')
    .default('signet'),
  /** Connections to each server. */
  max_pool_size: z.int().min(1).max(1000).default(50),
  /** MiB that what is short-lived may take. */
  max_size_mb: z.int().min(1).max(1_048_576).default(1024),
})

/** A database of MongoDB, for any number of hosts. */
export default defineStorage<z.infer<typeof options>>({
  name: 'mongodb',
  apiVersion: 1,
  contract: 4,
  options,
  async open(given, services) {
    const { openMongodb } = await import('./open-mongodb.js')
    return openMongodb({ ...given, ...services })
  },
})
