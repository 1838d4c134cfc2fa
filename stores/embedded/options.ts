import { z } from 'zod'
import { maxSizeMb } from '../../core/api/storage.js'

/** `storage.*.options` where `use` is `embedded`. */
export const embeddedOptions = z.strictObject({
  path: z
    .string()
    .min(1)
    .default('./data/store')
    .describe('The directory; created if missing. Both roles may share one.'),
  max_size_mb: maxSizeMb.describe(
    'MiB that records may take; beyond it new ones are refused. Where both roles share a directory, both say the same.',
  ),
})
