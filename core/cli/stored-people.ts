import type { Config } from '../../config/schema.js'
import {
  describeConsent,
  describeCopy,
  describeFactor,
  describeFactorsAfter,
  describeGrant,
  describePerson,
  describeSession,
} from '../admin-api/people-documents.js'
import { setAccountDisabled, updateAccount } from '../administration/account-changes.js'
import { findPerson, listAccounts } from '../administration/accounts.js'
import {
  isRefusal,
  type Administration,
  type Operator,
  type TimedDeployment,
} from '../administration/administration.js'
import { listConsents, revokeConsents } from '../administration/consents.js'
import { listFactors, removeFactor } from '../administration/factors.js'
import { listGrants, revokeGrant, revokeGrantsOf } from '../administration/grants.js'
import { endPerson } from '../administration/people.js'
import { copyPerson } from '../administration/person-copy.js'
import { erasePerson } from '../administration/person-erasure.js'
import { issueRecoveryLink } from '../administration/recovery.js'
import { endAllSessions, endSessions, endSessionsAt, listSessions } from '../administration/sessions.js'
import { isoTime } from '../clock.js'
import { administer, withStores } from './deployment.js'
import type { PeopleAdministration } from './people-administration.js'

type Changes = Omit<PeopleAdministration, 'list' | 'find' | 'listSessions' | 'listGrants' | 'listConsents'>

const noLimits = { maxBytes: Infinity, maxLines: Infinity }

const changesOf = (config: Config): Changes => {
  const run = <T>(work: (administration: Administration, by: Operator) => Promise<T>) => administer(config, work)
  return {
    update: (username, update) => run((on, by) => updateAccount(on, by, { username, update })),
    async setDisabled(username, disabled) {
      const changed = await run((on, by) => setAccountDisabled(on, by, { username, disabled }))
      if (isRefusal(changed)) return changed
      const { sub, username: name, factors } = changed
      return { sub, username: name, ...describeFactorsAfter(factors) }
    },
    async recover(who, expiresIn) {
      const issued = await run((on, by) => issueRecoveryLink(on, by, { who, expiresIn }))
      if (isRefusal(issued)) return issued
      const { person, recovery, link, expiresAt } = issued
      return { sub: person.sub, recovery, link, expires_at: isoTime(expiresAt), isKnown: person.source !== undefined }
    },
    async listFactors(who) {
      const factors = await run((on, by) => listFactors(on, by, who))
      return isRefusal(factors) ? factors : factors.map(describeFactor)
    },
    async removeFactor(who, factor) {
      const removed = await run((on, by) => removeFactor(on, by, { who, factor }))
      return isRefusal(removed) ? removed : describeFactor(removed)
    },
    async end(sub, removeFactors) {
      const { isKnown, factors, ...ended } = await run((on, by) => endPerson(on, by, { sub, removeFactors }))
      return { known: isKnown, ...ended, ...describeFactorsAfter(factors) }
    },
    erase: (sub) => run((on, by) => erasePerson(on, by, sub)),
    async copy(sub) {
      const copy = await run((on, by) => copyPerson(on, by, { sub, limits: noLimits }))
      return isRefusal(copy) ? copy : describeCopy(copy)
    },
    async endSessions(sub, sid) {
      const ended = await run((on, by) => endSessions(on, by, { sub, sid }))
      return isRefusal(ended) ? ended : ended.sids
    },
    endAllSessions: () => run(endAllSessions),
    endSessionsAt: (clientId) => run((on, by) => endSessionsAt(on, by, clientId)),
    revokeGrant: (grantId) => run((on, by) => revokeGrant(on, by, grantId)),
    revokeGrantsOf: async (sub, client_id) =>
      (await run((on, by) => revokeGrantsOf(on, by, { sub, client_id }))).grants,
    async revokeConsents(sub, client_id) {
      const revoked = await run((on, by) => revokeConsents(on, by, { sub, client_id }))
      return isRefusal(revoked) ? revoked : revoked.clients
    },
  }
}

/** The administration of people on the stores of a deployment, which each call opens and closes. */
export const storedPeople = (config: Config): PeopleAdministration => {
  const read = <T>(work: (deployment: TimedDeployment) => Promise<T>) =>
    withStores(config, (stores) => work({ config, stores, clock: Date.now }))
  return {
    list: async (filter) => (await read((on) => listAccounts(on, filter))).map(describePerson),
    async find(who) {
      const person = await read((on) => findPerson(on, who))
      if (isRefusal(person)) return person
      return person.source === undefined ? { refused: 'unknown' } : describePerson(person)
    },
    listSessions: async (sub) => (await read((on) => listSessions(on, sub))).map(describeSession),
    listGrants: async (sub) => (await read((on) => listGrants(on, sub))).map(describeGrant),
    listConsents: async (sub) => (await read((on) => listConsents(on, sub))).map(describeConsent),
    ...changesOf(config),
  }
}
