import { z } from 'zod'

/** `storage.*.options` where `use` is `embedded`. */
export const embeddedOptions = z.strictObject({
  path: z
    .string()
    .min(1)
    .default('./data/store')
    .describe('The directory; created if missing. Both roles may share one.'),
  max_size_mb: z
    .int()
    .min(1)
    .max(1_048_576)
    .default(1024)
    .describe(
      'MiB that records may take; beyond it new ones are refused. Where both roles share a directory, both say the same.',
    ),
})
