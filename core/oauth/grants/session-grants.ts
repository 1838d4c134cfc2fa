import type { NotifyClients } from '../back-channel/notify-clients.js'
import type { RecordStore, RevocationStore } from '../../storage/ports.js'
import { isOffline } from '../requests/scope.js'
import { grantEntryId, type GrantEntry } from './grant-index.js'
import { listSubjectRecords } from '../subjects/subject-records.js'

export interface SessionGrantsOptions {
  readonly index: RecordStore<GrantEntry>
  readonly revocations: RevocationStore
  /** How long a revoked grant must be remembered: until its last token has expired. */
  readonly grantLifetime: number
}

/** A session, as its grants know it. */
export interface GrantSession {
  readonly sid: string
  /** Seconds since the epoch: a later sign-in of the same person in the same browser has the same `sid`. */
  readonly authTime: number
}

/** Under it, among what is revoked: that a session is over. Apart from the ids of grants and tokens, which have no colon. */
export const sessionEndId = ({ sid, authTime }: GrantSession): string => `session:${sid}:${String(authTime)}`

/** Seconds. More than codes and device codes live: what has become tokens by then is in the index. */
const sessionEndTtl = 7200

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
 * Ends these sessions for the codes issued in them, then revokes what was granted in these sessions of a person and is not for the time after them (`offline_access`, OIDC Core §11),
 * and leaves word for all clients that were granted something in them. Resolves with the number of grants revoked, by `sid`.
 * Throws `Unavailable`; what is revoked by then stays so.
 */
export type EndSessionGrants = (
  subject: string,
  sessions: readonly GrantSession[],
) => Promise<ReadonlyMap<string, number>>

export const createEndSessionGrants =
  (options: SessionGrantsOptions & { readonly tell: NotifyClients }): EndSessionGrants =>
  async (subject, sessions) => {
    // First: a code that is issued beside this is in the lists that are read next, or finds that its session is over.
    await Promise.all(sessions.map((one) => options.revocations.revoke(sessionEndId(one), sessionEndTtl)))
    const sids = [...new Set(sessions.map(({ sid }) => sid))]
    const ended = new Map(sids.map((sid) => [sid, 0]))
    const all = await listSubjectRecords(options.index, subject)
    const granted = all.flatMap((entry) =>
      entry.sid !== undefined && ended.has(entry.sid) ? [{ ...entry, sid: entry.sid }] : [],
    )
    await options.tell(subject, { sids })
    const own = granted.filter((entry) => !isOffline(entry))
    await revokeGrantEntries(options, own)
    for (const { sid } of own) ended.set(sid, (ended.get(sid) ?? 0) + 1)
    return ended
  }
