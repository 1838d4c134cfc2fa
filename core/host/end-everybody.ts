import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import { forEachSubject } from '../oauth/each-subject.js'
import { listSubjectRecords } from '../oauth/subject-records.js'
import { collections } from '../collections/collections.js'
import { findLogoutUriIn, personalRecordsIn, tellClientsIn } from '../collections/person-records.js'
import type { Stores } from '../collections/stores.js'

/** How much has ended. */
export interface Ended {
  readonly people: number
  readonly sessions: number
}

/**
 * Ends the sessions that everybody has opened until now, and leaves word for the clients that were granted something in them or in
 * earlier ones. Throws `Unavailable`: what has ended by then stays so, and another call ends the rest.
 */
export const endEverySession = async (stores: Stores, config: Config, clock: Clock): Promise<Ended> => {
  const { sessionIndex, sessionClients } = collections(stores)
  const tell = tellClientsIn(stores, config, clock)
  const records = personalRecordsIn(stores, config, clock, tell)
  // The second of a sign-in may be the one that follows (`findAuthTime`).
  const until = Math.ceil(clock() / 1000)
  const ended = { people: 0, sessions: 0 }

  const sidsOf = async (subject: string): Promise<readonly string[]> =>
    (await listSubjectRecords(sessionClients, subject)).map(({ sid }) => sid)

  const endOf = async (subject: string): Promise<void> => {
    const all = await listSubjectRecords(sessionIndex, subject)
    const over = all.filter(({ authTime }) => authTime <= until)
    const kept = new Set(all.filter((entry) => !over.includes(entry)).map(({ sid }) => sid))
    if (kept.size === 0) await tell(subject)
    else await tell(subject, { sids: (await sidsOf(subject)).filter((sid) => !kept.has(sid)) })
    await records.endSessions(subject, over)
    if (over.length > 0) ended.people++
    ended.sessions += over.length
  }

  await forEachSubject(sessionIndex, endOf)
  // People whose session had ended by itself, and whose clients may go on.
  await forEachSubject(sessionClients, endOf)
  return ended
}

/**
 * Tells one client that all its sessions are over; people stay signed in here. Undefined for a client without
 * `backchannel_logout_uri`. Throws `Unavailable`.
 */
export const endSessionsAt = async (
  stores: Stores,
  config: Config,
  clock: Clock,
  clientId: string,
): Promise<Ended | undefined> => {
  if ((await findLogoutUriIn(stores, config)(clientId)) === undefined) return undefined
  const { sessionClients } = collections(stores)
  const tell = tellClientsIn(stores, config, clock)
  const ended = { people: 0, sessions: 0 }
  await forEachSubject(sessionClients, async (subject) => {
    const all = await listSubjectRecords(sessionClients, subject)
    const sessions = all.filter((about) => about.clientId === clientId).length
    if (sessions === 0) return
    await tell(subject, { clientId })
    ended.people++
    ended.sessions += sessions
  })
  return ended
}
