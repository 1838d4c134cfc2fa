import type { NotifyClients } from '../back-channel/notify-clients.js'
import type { RecordStore, RevocationStore } from '../../storage/ports.js'
import { isOffline } from '../requests/scope.js'
import { grantEntryId, type GrantEntry } from './grant-index.js'
import { listSubjectRecords } from '../subjects/subject-records.js'

export interface SessionGrantsOptions {
  readonly index: RecordStore<GrantEntry>
  readonly revocations: RevocationStore
  /** How long a revoked grant must be remembered, in seconds: until its last token has expired. */
  readonly grantLifetime: number
}

/** The members of a session that its grants refer to. */
export interface GrantSession {
  readonly sid: string
  /** Seconds since the epoch. A later sign-in of the same person in the same browser has the same `sid`. */
  readonly authTime: number
}

/**
 * The id under which the end of a session is recorded among the revocations. It has a colon, unlike the ids of grants
 * and tokens.
 */
export const sessionEndId = ({ sid, authTime }: GrantSession): string => `session:${sid}:${String(authTime)}`

/** Seconds. Codes and device codes live for less time, and by then the tokens made from them are in the index. */
const sessionEndTtl = 7200

/**
 * Revokes the grants of these entries and deletes the entries. Throws `Unavailable`; the grants revoked before that
 * stay revoked.
 */
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
 * Ends these sessions for the codes issued in them. It then revokes what the person granted in these sessions, except
 * grants that outlast them (`offline_access`, OIDC Core §11), and notifies all clients that were granted something in
 * them. Resolves with the number of grants revoked, by `sid`. Throws `Unavailable`; what was revoked before that
 * stays revoked.
 */
export type EndSessionGrants = (
  subject: string,
  sessions: readonly GrantSession[],
) => Promise<ReadonlyMap<string, number>>

export const createEndSessionGrants =
  (options: SessionGrantsOptions & { readonly notifyClients: NotifyClients }): EndSessionGrants =>
  async (subject, sessions) => {
    // This comes first: a code that is issued at the same time is either in the lists that are read next, or finds
    // that its session is over.
    await Promise.all(sessions.map((one) => options.revocations.revoke(sessionEndId(one), sessionEndTtl)))
    const sids = [...new Set(sessions.map(({ sid }) => sid))]
    const ended = new Map(sids.map((sid) => [sid, 0]))
    const all = await listSubjectRecords(options.index, subject)
    const granted = all.flatMap((entry) =>
      entry.sid !== undefined && ended.has(entry.sid) ? [{ ...entry, sid: entry.sid }] : [],
    )
    await options.notifyClients(subject, { sids })
    const own = granted.filter((entry) => !isOffline(entry))
    await revokeGrantEntries(options, own)
    for (const { sid } of own) ended.set(sid, (ended.get(sid) ?? 0) + 1)
    return ended
  }
