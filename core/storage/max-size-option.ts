import { z } from 'zod'

/** The option `max_size_mb` of a store: the room for its records in MiB. */
export const maxSizeMb = z.int().min(1).max(1_048_576).default(1024)
