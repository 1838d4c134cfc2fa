import { z } from 'zod'

/** `storage.*.options` where `use` is `embedded`. */
export const embeddedOptions = z.strictObject({
  /** Directory of the store; made when missing. Roles and processes of one host may share it. */
  path: z.string().min(1).default('./data/store'),
  /** MiB that records may take. When they do, new ones are refused until old ones have expired. */
  max_size_mb: z.int().min(1).max(1_048_576).default(1024),
})
