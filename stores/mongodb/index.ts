import { z } from 'zod'
import { defineStorage, maxSizeMb } from '../../core/api/storage.js'

const options = z.strictObject({
  uri: z
    .string()
    .min(1)
    .regex(/^mongodb(\+srv)?:\/\/./, 'must begin with mongodb:// or mongodb+srv://')
    .describe(
      'The connection string, with hosts, replica set, credentials and TLS. Roles that name the same share their connections.',
    ),
  database: z
    .string()
    .regex(/^[^\0/\\. "$*<>:|?]{1,63}$/, 'must be a name of a database: 1 to 63 characters, none of /\\. "$*<>:|?')
    .default('signet')
    .describe('The database.'),
  max_pool_size: z.int().min(1).max(1000).default(50).describe('Connections of one process to each server.'),
  max_size_mb: maxSizeMb.describe(
    'The room in MiB, of which each class of short-lived entries has its [share](limits.md#shares-of-the-stores).',
  ),
})

/** A MongoDB database, for any number of hosts. */
export default defineStorage<z.infer<typeof options>>({
  name: 'mongodb',
  apiVersion: 1,
  contract: 4,
  packages: ['mongodb'],
  options,
  async open(given, services) {
    const { openMongodb } = await import('./open-mongodb.js')
    return openMongodb({ ...given, ...services })
  },
})
