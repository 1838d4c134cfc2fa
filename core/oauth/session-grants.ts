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
 * Revokes what was granted in these sessions of a person and is not for the time after them (`offline_access`, OIDC Core §11),
 * and leaves word for all clients that were granted something in them. Resolves with the number of grants revoked, by `sid`.
 * Throws `Unavailable`; what is revoked by then stays so.
 */
export type EndSessionGrants = (subject: string, sids: readonly string[]) => Promise<ReadonlyMap<string, number>>

export const createEndSessionGrants =
  (options: SessionGrantsOptions & { readonly tell: TellClients }): EndSessionGrants =>
  async (subject, sids) => {
    const ended = new Map(sids.map((sid) => [sid, 0]))
    const all = await listSubjectRecords(options.index, subject)
    const granted = all.flatMap((entry) =>
      entry.sid !== undefined && ended.has(entry.sid) ? [{ ...entry, sid: entry.sid }] : [],
    )
    await options.tell(subject, { sids })
    const own = granted.filter(({ scope }) => !scope.includes('offline_access'))
    await revokeGrantEntries(options, own)
    for (const { sid } of own) ended.set(sid, (ended.get(sid) ?? 0) + 1)
    return ended
  }
