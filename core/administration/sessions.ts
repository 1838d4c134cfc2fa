import { findLogoutUriIn, personalRecordsIn, notifyClientsIn } from '../collections/person-records.js'
import { collections } from '../collections/collections.js'
import type { SessionEntry } from '../interaction/session.js'
import { forEachSubject } from '../oauth/subjects/each-subject.js'
import { listSubjectRecords } from '../oauth/subjects/subject-records.js'
import { change, type Administration, type Operator, type Refusal, type TimedDeployment } from './administration.js'

/** A session as operators see it, without where it is stored. */
export type ListedSession = Omit<SessionEntry, 'key'>

/** Lists the sessions of a person. Throws `Unavailable`. */
export const listSessions = async (
  { config, stores, clock }: TimedDeployment,
  sub: string,
): Promise<readonly ListedSession[]> =>
  (await personalRecordsIn(stores, config, clock).listSessions(sub)).map(({ key: _key, ...session }) => session)

/** Ends the sessions of a person, or the one with this `sid`. Returns the `sid` of each. Throws `Unavailable`. */
export const endSessions = (
  administration: Administration,
  by: Operator,
  { sub, sid }: { readonly sub: string; readonly sid?: string | undefined },
): Promise<{ readonly sids: readonly string[] } | Refusal<'unknown'>> => {
  const { config, stores, clock } = administration
  const what = { action: 'session.end', sub, ...(sid !== undefined && { sid }) }
  return change(administration, by, what, async () => {
    const records = personalRecordsIn(stores, config, clock)
    const found = await records.listSessions(sub, sid)
    if (found.length === 0) return { refused: 'unknown' }
    await records.endSessions(sub, found)
    return { sids: found.map((session) => session.sid) }
  })
}

/** The numbers of people and sessions affected. */
export interface Ended {
  readonly people: number
  readonly sessions: number
}

/**
 * Ends all sessions that were opened until now, and notifies the clients that were granted something in them or in
 * earlier ones. Throws `Unavailable`: what has ended by then stays ended, and another call ends the rest.
 */
export const endAllSessions = (administration: Administration, by: Operator): Promise<Ended> =>
  change(administration, by, { action: 'session.end_all' }, () => endEverySession(administration))

const endEverySession = async ({ config, stores, clock }: TimedDeployment): Promise<Ended> => {
  const { sessionIndex, sessionClients } = collections(stores)
  const notifyClients = notifyClientsIn(stores, config, clock)
  const records = personalRecordsIn(stores, config, clock, notifyClients)
  // The `auth_time` of a sign-in may be the following second (`findAuthTime`).
  const until = Math.ceil(clock() / 1000)
  const ended = { people: 0, sessions: 0 }

  const sidsOf = async (subject: string): Promise<readonly string[]> =>
    (await listSubjectRecords(sessionClients, subject)).map(({ sid }) => sid)

  const endOf = async (subject: string): Promise<void> => {
    const all = await listSubjectRecords(sessionIndex, subject)
    const over = all.filter(({ authTime }) => authTime <= until)
    const kept = new Set(all.filter((entry) => !over.includes(entry)).map(({ sid }) => sid))
    if (kept.size === 0) await notifyClients(subject)
    else await notifyClients(subject, { sids: (await sidsOf(subject)).filter((sid) => !kept.has(sid)) })
    await records.endSessions(subject, over)
    if (over.length > 0) ended.people++
    ended.sessions += over.length
  }

  await forEachSubject(sessionIndex, endOf)
  // These people's sessions had already expired, and their clients may still use what was granted in them.
  await forEachSubject(sessionClients, endOf)
  return ended
}

/**
 * Notifies one client that all its sessions are over; people stay signed in here. `no_logout_uri`: there is no such
 * client with a `backchannel_logout_uri`. Throws `Unavailable`.
 */
export const endSessionsAt = (
  administration: Administration,
  by: Operator,
  client_id: string,
): Promise<Ended | Refusal<'no_logout_uri'>> => {
  const { config, stores, clock } = administration
  return change(administration, by, { action: 'session.end', client_id }, async () => {
    if ((await findLogoutUriIn(stores, config)(client_id)) === undefined) return { refused: 'no_logout_uri' }
    const { sessionClients } = collections(stores)
    const notifyClients = notifyClientsIn(stores, config, clock)
    const ended = { people: 0, sessions: 0 }
    await forEachSubject(sessionClients, async (subject) => {
      const all = await listSubjectRecords(sessionClients, subject)
      const sessions = all.filter(({ clientId }) => clientId === client_id).length
      if (sessions === 0) return
      await notifyClients(subject, { clientId: client_id })
      ended.people++
      ended.sessions += sessions
    })
    return ended
  })
}
