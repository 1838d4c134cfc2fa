import type { Clock } from '../clock.js'
import { accessOf, endAccess, isAccessOver } from '../oauth/grants/access-end.js'
import type { NotifyClients } from '../oauth/back-channel/notify-clients.js'
import type { GrantEntry } from '../oauth/grants/grant-index.js'
import { createEndSessionGrants, revokeGrantEntries } from '../oauth/grants/session-grants.js'
import { findEnded, signInOf } from '../oauth/subjects/subject-end.js'
import { listSubjectRecords, pageSubjectRecords } from '../oauth/subjects/subject-records.js'
import type { RecordLookup, RecordStore, RevocationStore } from '../storage/ports.js'
import { createPageAccess, type ClientAccess, type PersonalPage } from './client-access.js'
import { consentId, type Consent } from './consent.js'
import { sessionEntryId, type Session, type SessionEntry } from './session.js'

export interface PersonalRecordsOptions {
  readonly sessions: RecordLookup<Session>
  readonly sessionIndex: RecordStore<SessionEntry>
  readonly grantIndex: RecordStore<GrantEntry>
  readonly consents: RecordStore<Consent>
  readonly revocations: RevocationStore
  readonly clock: Clock
  /** How long a revoked grant must be remembered, until its last token has expired. */
  readonly grantLifetime: number
  readonly notifyClients: NotifyClients
}

/** Every member throws `Unavailable`. */
interface PersonalSessions {
  /** Lists the valid sessions of a person, or only the one with `sid`. */
  listSessions(subject: string, sid?: string): Promise<readonly SessionEntry[]>
  /** Lists at most this many of them, starting at `after`, the `next` of the previous page. */
  pageSessions(subject: string, after: string | undefined, most: number): Promise<PersonalPage<SessionEntry>>
  /**
   * Ends these sessions of a person with what was granted in them, except grants that outlive the session
   * (`offline_access`, OIDC Core §11), and queues a notification for the clients that were granted something. What
   * was granted in the session `kept` stays valid. Resolves with the number of ended grants, by `sid`.
   */
  endSessions(subject: string, entries: readonly SessionEntry[], kept?: string): Promise<ReadonlyMap<string, number>>
  /** Removes sessions whose clients have been notified. */
  removeSessions(entries: readonly SessionEntry[]): Promise<void>
}

/** Every member throws `Unavailable`. */
interface PersonalGrants {
  /** Lists the valid grants of a person, or only those to the client `clientId`. */
  listGrants(subject: string, clientId?: string): Promise<readonly GrantEntry[]>
  /** Lists at most this many of them, starting at `after`, the `next` of the previous page. */
  pageGrants(subject: string, after: string | undefined, most: number): Promise<PersonalPage<GrantEntry>>
  /**
   * Lists at most this many clients that have access, starting at `after`. A client of a person with more than 500
   * grants may be on more than one page.
   */
  pageAccess(subject: string, after: string | undefined, most: number): Promise<PersonalPage<ClientAccess>>
  revokeGrants(entries: readonly GrantEntry[]): Promise<void>
  /**
   * Ends all that the person has granted until now, to this client or to all, including what is not listed anywhere.
   * Resolves with what was listed.
   */
  endGrantsOf(subject: string, clientId?: string): Promise<readonly GrantEntry[]>
  /**
   * Ends all that a person has granted a client, and notifies the client that the sessions in which it was granted
   * something are over. Returns what was listed. `isKnown` means that the client exists, so it may have more than is
   * listed.
   */
  withdrawGrants(subject: string, clientId: string, isKnown: boolean): Promise<readonly GrantEntry[]>
}

/** Every member throws `Unavailable`. */
interface PersonalConsents {
  /**
   * Removes a remembered consent, and returns it. This comes before the client's grants are ended, because the
   * consent would give the client a new one.
   */
  withdrawConsent(subject: string, clientId: string): Promise<Consent | undefined>
  /** Lists the remembered consents of a person, or only that of the client `clientId`. */
  listConsents(subject: string, clientId?: string): Promise<readonly Consent[]>
  /** Lists at most this many of them, starting at `after`, the `next` of the previous page. */
  pageConsents(subject: string, after: string | undefined, most: number): Promise<PersonalPage<Consent>>
  removeConsents(all: readonly Consent[]): Promise<void>
}

/** What a person has, as the person and the operator of the deployment see it. Every member throws `Unavailable`. */
export interface PersonalRecords extends PersonalSessions, PersonalGrants, PersonalConsents {}

const filterLive = async <T>(all: readonly T[], isLive: (one: T) => Promise<boolean>): Promise<readonly T[]> => {
  const live = await Promise.all(all.map(isLive))
  return all.filter((_, index) => live[index])
}

/** The most reads of the store for one page, in case none of the results is valid. */
const mostReads = 20

/** Reads at most `most` valid records of a subject, starting at `after`. */
const pageLive = async <T>(
  store: RecordStore<T>,
  subject: string,
  { after, most }: { readonly after: string | undefined; readonly most: number },
  filter: (all: readonly T[]) => Promise<readonly T[]>,
): Promise<PersonalPage<T>> => {
  const found: T[] = []
  let next = after
  for (let reads = 0; reads < mostReads; reads++) {
    const { entries, more } = await pageSubjectRecords(store, subject, next, most - found.length)
    found.push(...(await filter(entries.map(({ record }) => record))))
    next = entries.at(-1)?.name
    if (!more) return { found }
    if (found.length >= most) break
  }
  return { found, ...(next !== undefined && { next }) }
}

const createPersonalSessions = (options: PersonalRecordsOptions): PersonalSessions => {
  const { sessions, sessionIndex, grantIndex, revocations } = options
  const endGrants = createEndSessionGrants({ ...options, index: grantIndex })

  /** Returns a check that a session is in the store and was not ended together with all that the person had. */
  const findLive = async (subject: string) => {
    const isEnded = await findEnded(revocations, subject)
    return async ({ key, authTime }: SessionEntry): Promise<boolean> =>
      !isEnded(authTime) && (await sessions.find(key)) !== undefined
  }

  const removeSessions: PersonalRecords['removeSessions'] = async (entries) => {
    for (const entry of entries) {
      // The entry is removed last: a session that could not be removed stays listed, and can be ended later.
      await sessions.remove(entry.key)
      await sessionIndex.remove(sessionEntryId(entry))
    }
  }

  return {
    async listSessions(subject, sid) {
      const all = await listSubjectRecords(sessionIndex, subject)
      const wanted = all.filter((entry) => sid === undefined || entry.sid === sid)
      return filterLive(wanted, await findLive(subject))
    },
    async pageSessions(subject, after, most) {
      const isLive = await findLive(subject)
      return pageLive(sessionIndex, subject, { after, most }, (all) => filterLive(all, isLive))
    },
    async endSessions(subject, entries, kept) {
      const others = entries.filter(({ sid }) => sid !== kept)
      const ended = await endGrants(subject, others)
      await removeSessions(entries)
      return ended
    },
    removeSessions,
  }
}

const createPersonalGrants = (options: PersonalRecordsOptions): PersonalGrants => {
  const { grantIndex, consents, revocations } = options
  const grants = { ...options, index: grantIndex }

  const filterGood = async (subject: string, entries: readonly GrantEntry[]): Promise<readonly GrantEntry[]> => {
    const isEnded = await findEnded(revocations, subject)
    const begun = await filterLive(
      entries.filter(({ authTime }) => !isEnded(authTime)),
      async ({ clientId, grantId, grantedAt }) =>
        !(await isAccessOver(revocations, accessOf(signInOf(subject, grantedAt), subject, clientId, grantId))),
    )
    // One query covers all grants, and is nearly always enough.
    if (!(await revocations.isRevoked(begun.map(({ grantId }) => grantId)))) return begun
    return filterLive(begun, async ({ grantId }) => !(await revocations.isRevoked([grantId])))
  }

  const listGrants: PersonalRecords['listGrants'] = async (subject, clientId) => {
    const all = await listSubjectRecords(grantIndex, subject)
    return filterGood(
      subject,
      all.filter((entry) => clientId === undefined || entry.clientId === clientId),
    )
  }

  /**
   * Returns the grants of `listGrants`, and those that were revoked or withdrawn and are still in the index because
   * an outage interrupted their end. The next try finishes it, and its caller records it.
   */
  const listToEnd: PersonalRecords['listGrants'] = async (subject, clientId) => {
    const isEnded = await findEnded(revocations, subject)
    const all = await listSubjectRecords(grantIndex, subject)
    return all.filter((entry) => !isEnded(entry.authTime) && (clientId === undefined || entry.clientId === clientId))
  }

  const endGrantsOf: PersonalRecords['endGrantsOf'] = async (subject, clientId) => {
    const granted = await listToEnd(subject, clientId)
    // Only this ends what is not listed anywhere.
    await endAccess(options, subject, clientId)
    await revokeGrantEntries(grants, granted)
    return granted
  }

  return {
    listGrants,
    pageGrants: (subject, after, most) =>
      pageLive(grantIndex, subject, { after, most }, (all) => filterGood(subject, all)),
    pageAccess: createPageAccess({ grantIndex, consents, filterGood }),
    revokeGrants: (entries) => revokeGrantEntries(grants, entries),
    endGrantsOf,
    async withdrawGrants(subject, clientId, isKnown) {
      await options.notifyClients(subject, { clientId })
      // Otherwise anyone could fill the store with records of clients that do not exist.
      const hasMore = isKnown || (await listToEnd(subject, clientId)).length > 0
      return hasMore ? endGrantsOf(subject, clientId) : []
    },
  }
}

const createPersonalConsents = ({ consents }: PersonalRecordsOptions): PersonalConsents => ({
  async withdrawConsent(subject, clientId) {
    const consent = await consents.find(consentId(subject, clientId))
    if (consent) await consents.remove(consentId(subject, clientId))
    return consent
  },
  async listConsents(subject, clientId) {
    const all = await listSubjectRecords(consents, subject)
    return all.filter((consent) => clientId === undefined || consent.clientId === clientId)
  },
  async pageConsents(subject, after, most) {
    const { entries, more } = await pageSubjectRecords(consents, subject, after, most)
    const next = entries.at(-1)?.name
    return { found: entries.map(({ record }) => record), ...(more && next !== undefined && { next }) }
  },
  async removeConsents(all) {
    for (const { subject, clientId } of all) await consents.remove(consentId(subject, clientId))
  },
})

export const createPersonalRecords = (options: PersonalRecordsOptions): PersonalRecords => ({
  ...createPersonalSessions(options),
  ...createPersonalGrants(options),
  ...createPersonalConsents(options),
})
