import type { Config } from '../../config/schema.js'
import { consentId, type Consent } from '../interaction/consent.js'
import { sessionEntryId, type SessionEntry } from '../interaction/session.js'
import type { GrantEntry } from '../oauth/grant-index.js'
import { revokeGrantEntries } from '../oauth/session-grants.js'
import { signInOf } from '../oauth/subject-end.js'
import { listSubjectRecords } from '../oauth/subject-records.js'
import { tellClientsIn } from './back-channel.js'
import { collections } from './collections.js'
import { grantLifetime } from '../keys/lifecycle/open-ring.js'
import type { Stores } from './stores.js'

// What a person has, for the operator of the deployment. Everything throws `Unavailable`.

const filterLive = async <T>(all: readonly T[], isLive: (one: T) => Promise<boolean>): Promise<readonly T[]> => {
  const live = await Promise.all(all.map(isLive))
  return all.filter((_, index) => live[index])
}

/** The sessions of a person that are good; with `sid` that one alone. */
export const listSessions = async (stores: Stores, subject: string, sid?: string): Promise<readonly SessionEntry[]> => {
  const { sessions, sessionIndex, revocations } = collections(stores)
  const all = await listSubjectRecords(sessionIndex, subject)
  const wanted = all.filter((entry) => sid === undefined || entry.sid === sid)
  return filterLive(wanted, async ({ key, authTime }) => {
    const [session, isOver] = await Promise.all([
      sessions.find(key),
      revocations.isRevoked([], signInOf(subject, authTime)),
    ])
    return session !== undefined && !isOver
  })
}

/** Ends these sessions of a person, and leaves word for the clients that were granted something in them. */
export const endSessions = async (
  stores: Stores,
  config: Config,
  subject: string,
  entries: readonly SessionEntry[],
): Promise<void> => {
  const sids = entries.map(({ sid }) => sid)
  await tellClientsIn(stores, config, Date.now)(subject, sids)
  await removeSessions(stores, entries)
}

/** For sessions of which the clients have been told. */
export const removeSessions = async (stores: Stores, entries: readonly SessionEntry[]): Promise<void> => {
  const { sessions, sessionIndex } = collections(stores)
  for (const entry of entries) {
    await sessions.remove(entry.key)
    await sessionIndex.remove(sessionEntryId(entry))
  }
}

/** The grants of a person that are good; with `clientId` those to that client alone. */
export const listGrants = async (
  stores: Stores,
  subject: string,
  clientId?: string,
): Promise<readonly GrantEntry[]> => {
  const { grantIndex, revocations } = collections(stores)
  const all = await listSubjectRecords(grantIndex, subject)
  const wanted = all.filter((entry) => clientId === undefined || entry.clientId === clientId)
  return filterLive(
    wanted,
    async ({ grantId, authTime }) => !(await revocations.isRevoked([grantId], signInOf(subject, authTime))),
  )
}

/**
 * Has anybody granted a client something under this id? The index is by person, so all of it is read. Grants without a
 * person, those of `client_credentials`, leave no record.
 */
export const hasGrantRecord = async (stores: Stores, grantId: string): Promise<boolean> => {
  const { grantIndex } = collections(stores)
  for (let after: string | undefined; ;) {
    const page = await grantIndex.list(after, 1000)
    if (page.some(({ record }) => record.grantId === grantId)) return true
    after = page.at(-1)?.id
    if (after === undefined) return false
  }
}

export const revokeGrants = async (stores: Stores, config: Config, entries: readonly GrantEntry[]): Promise<void> => {
  const { grantIndex: index, revocations } = collections(stores)
  await revokeGrantEntries({ index, revocations, grantLifetime: grantLifetime(config) }, entries)
}

/** What a person has allowed clients for good; with `clientId` that client alone. */
export const listConsents = async (stores: Stores, subject: string, clientId?: string): Promise<readonly Consent[]> => {
  const all = await listSubjectRecords(collections(stores).consents, subject)
  return all.filter((consent) => clientId === undefined || consent.clientId === clientId)
}

export const removeConsents = async (stores: Stores, all: readonly Consent[]): Promise<void> => {
  for (const { subject, clientId } of all) await collections(stores).consents.remove(consentId(subject, clientId))
}
