import { endSubjectIn, personalRecordsIn } from '../collections/person-records.js'
import { openAccountStore } from '../interaction/accounts.js'
import { change, type Administration, type Operator } from './administration.js'
import { reconcileFactors, type FactorsAfter } from './factors.js'

/** The records of a person that were ended. */
export interface EndedPerson {
  /** False for a subject without any records. Whatever it had has ended all the same. */
  readonly isKnown: boolean
  readonly sessions: number
  readonly grants: number
  readonly consents: number
  readonly factors: FactorsAfter
}

/**
 * Ends everything that a person has, including what no index lists. Factors are removed only with `removeFactors`.
 * Throws `Unavailable`.
 */
export const endPerson = (
  administration: Administration,
  by: Operator,
  { sub, removeFactors }: { readonly sub: string; readonly removeFactors: boolean },
): Promise<EndedPerson> => {
  const { config, stores, clock } = administration
  return change(administration, by, { action: 'person.end', sub }, async (note) => {
    const records = personalRecordsIn(stores, config, clock)
    const [account, sessions, grants] = await Promise.all([
      openAccountStore(stores.records).subjects.find(sub),
      records.listSessions(sub),
      records.listGrants(sub),
    ])
    // This step ends everything that was opened until now, whatever the lists contain. From here on an old session
    // cannot give consent.
    await endSubjectIn(stores, config, clock)(sub)
    const consents = await records.listConsents(sub)
    const factors = await reconcileFactors(administration, by, { sub, remove: removeFactors }, note)
    await records.removeSessions(sessions)
    await records.revokeGrants(grants)
    await records.removeConsents(consents)
    const found = [sessions, grants, consents, factors.factors]
    const isKnown =
      config.accounts.some((one) => one.sub === sub) ||
      account !== undefined ||
      factors.method !== undefined ||
      factors.approvals > 0 ||
      found.some((all) => all.length > 0)
    return { isKnown, sessions: sessions.length, grants: grants.length, consents: consents.length, factors }
  })
}
