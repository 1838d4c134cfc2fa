import type { RecordStore, RevocationStore } from '../storage/ports.js'
import { grantEntryId, type GrantEntry } from './grant-index.js'
import { listSubjectRecords } from './subject-records.js'

export interface SessionGrantsOptions {
  readonly index: RecordStore<GrantEntry>
  readonly revocations: RevocationStore
  /** How long a revoked grant must be remembered: until its last token has expired. */
  readonly grantLifetime: number
}

/** Revokes what the entries stand for, and forgets them. Throws `Unavailable`; what is revoked by then stays so. */
export const revokeGrantEntries = async (
  { index, revocations, grantLifetime }: SessionGrantsOptions,
  entries: readonly GrantEntry[],
): Promise<void> => {
  for (const entry of entries) {
    await revocations.revoke(entry.grantId, grantLifetime)
    await index.remove(grantEntryId(entry))
  }
}

/**
 * Revokes what was granted in a session and is not for the time after it (`offline_access`, OIDC Core §11). Resolves with the
 * number of grants. Throws `Unavailable`; what is revoked by then stays so.
 */
export type EndSessionGrants = (session: { readonly sid: string; readonly subject: string }) => Promise<number>

export const createEndSessionGrants =
  (options: SessionGrantsOptions): EndSessionGrants =>
  async ({ sid, subject }) => {
    const all = await listSubjectRecords(options.index, subject)
    const own = all.filter((entry) => entry.sid === sid && !entry.scope.includes('offline_access'))
    await revokeGrantEntries(options, own)
    return own.length
  }
