import { Unavailable } from '../../unavailable.js'

/**
 * Errors after which LMDB has discarded the whole transaction: ENOMEM, EFBIG, ENOSPC, EDQUOT, MDB_MAP_FULL,
 * MDB_READERS_FULL, MDB_TXN_FULL. After any other, such as EIO, the disk may have it or not.
 */
const discarded: ReadonlySet<unknown> = new Set([12, 27, 28, 122, -30792, -30790, -30788])

/** Why a commit failed, and whether it may have happened all the same. */
export const commitFailure = async (
  error: unknown,
): Promise<{ readonly applied: 'no' | 'unknown'; readonly reason: unknown }> => {
  const { commitError } = error as { readonly commitError?: Promise<unknown> }
  const reason = commitError === undefined ? error : await commitError.catch((cause: unknown) => cause)
  return { applied: discarded.has((reason as { readonly code?: unknown }).code) ? 'no' : 'unknown', reason }
}

export const unavailable = (component: string, applied: 'no' | 'unknown', cause: unknown): Unavailable =>
  new Unavailable(component, applied, cause instanceof Error ? cause.message : String(cause), { cause })
