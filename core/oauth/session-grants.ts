import type { TellClients } from './back-channel/tell-clients.js'
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
 * Revokes what was granted in a session and is not for the time after it (`offline_access`, OIDC Core §11), and leaves word for
 * all clients that were granted something in it. Resolves with the number of grants revoked. Throws `Unavailable`; what is revoked by then stays so.
 */
export type EndSessionGrants = (session: { readonly sid: string; readonly subject: string }) => Promise<number>

export const createEndSessionGrants =
  (options: SessionGrantsOptions & { readonly tell: TellClients }): EndSessionGrants =>
  async ({ sid, subject }) => {
    const all = await listSubjectRecords(options.index, subject)
    const granted = all.filter((entry) => entry.sid === sid)
    await options.tell(subject, [sid])
    const own = granted.filter(({ scope }) => !scope.includes('offline_access'))
    await revokeGrantEntries(options, own)
    return own.length
  }
