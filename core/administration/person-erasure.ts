import { collections } from '../collections/collections.js'
import { endSubjectIn, personalRecordsIn } from '../collections/person-records.js'
import { openAccountStore, removeAccount } from '../interaction/accounts.js'
import { removeExternalAccount } from '../interaction/external-accounts.js'
import { recoveryLinkId } from '../interaction/recovery/recovery-links.js'
import { findPerson } from './accounts.js'
import { change, type Administration, type Operator, type Refusal } from './administration.js'
import { personFactorsIn, reconcileFactors } from './factors.js'
import { releaseDevicesOf } from './principals.js'

/** The numbers of what was erased. */
export interface ErasedPerson {
  readonly account: 'store' | 'external' | 'none'
  readonly sessions: number
  readonly grants: number
  readonly consents: number
  readonly factors: number
  readonly devices: number
}

/**
 * Erases a person: account, factors, sessions, grants, consents, devices, recovery link (GDPR article 17). It can be
 * repeated after an outage, and erases the rest. The audit log keeps its lines. `configured`: the configuration file
 * has the account, and must lose it first. `unknown`: nothing is stored of this subject. Throws `Unavailable`.
 */
export const erasePerson = (
  administration: Administration,
  by: Operator,
  sub: string,
): Promise<ErasedPerson | Refusal<'unknown' | 'configured'>> => {
  const { config, stores, clock } = administration
  return change(administration, by, { action: 'person.erase', sub }, async (note) => {
    const person = await findPerson(administration, { sub })
    if ('refused' in person) return person
    if (person.source === 'configuration') return { refused: 'configured' }
    const kept = collections(stores)
    const records = personalRecordsIn(stores, config, clock)
    const [sessions, grants] = await Promise.all([records.listSessions(sub), records.listGrants(sub)])
    const end = endSubjectIn(stores, config, clock)
    // Access ends before anything is removed, so that an interruption leaves nothing open, and again at the end.
    await end(sub)
    const { factors } = await reconcileFactors(administration, by, { sub, remove: true }, note)
    const consents = await records.listConsents(sub)
    await records.removeSessions(sessions)
    await records.revokeGrants(grants)
    await records.removeConsents(consents)
    const devices = await releaseDevicesOf(administration, sub)
    const hadLink = await kept.recoveryLinks.remove(recoveryLinkId(sub))
    const external = await removeExternalAccount(kept.externalAccounts, sub)
    const isMeant = (account: { readonly sub: string }): boolean => account.sub === sub
    const { username } = person
    const stored =
      username === undefined ? undefined : await removeAccount(openAccountStore(stores.records), username, end, isMeant)
    if (external !== undefined) await end(sub)
    const late = await personFactorsIn(stores, clock).removeAll(sub)
    const erased: ErasedPerson = {
      account: stored !== undefined ? 'store' : external !== undefined ? 'external' : 'none',
      ...{ sessions: sessions.length, grants: grants.length, consents: consents.length, devices },
      factors: factors.length + late.length,
    }
    const { account, ...counts } = erased
    const isKnown = account !== 'none' || hadLink || Object.values(counts).some((count) => count > 0)
    if (!isKnown) return { refused: 'unknown' }
    note({ erased: { ...erased } })
    return erased
  })
}
