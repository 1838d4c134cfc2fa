import { findUpdateFault, type AccountUpdate } from '../../administration/account-changes.js'
import type { Who } from '../../administration/accounts.js'
import { isRefusal, type Refusal } from '../../administration/administration.js'
import { canonicalUsername } from '../../interaction/username.js'
import { storesOnly } from '../options.js'
import type { PeopleAdministration, ShownPerson } from '../people-administration.js'
import { allOf, answerOf, dataOf, dataOrRefusal, type Service } from './service.js'

/** Finds the subject of an account by its username, which the API finds by words. */
const findSub = async (service: Service, who: Who): Promise<string | undefined> => {
  if (who.sub !== undefined) return who.sub
  const name = canonicalUsername(who.username)
  if (name === undefined) return undefined
  const found = await allOf((query) => service.listPeople({ query: { ...query, search: name } }))
  return found.find(({ username, source }) => source !== 'external' && canonicalUsername(username ?? '') === name)?.sub
}

const byMethodAndSubject = (one: ShownPerson, other: ShownPerson): number =>
  (one.method ?? '').localeCompare(other.method ?? '') || one.sub.localeCompare(other.sub)

/** The claims of an update as a merge patch (RFC 7396). */
const patchOf = ({ claims, unset, username }: AccountUpdate) => ({
  claims: { ...Object.fromEntries(unset.map((name) => [name, null])), ...claims },
  ...(username !== undefined && { username }),
})

const unknown = { refused: 'unknown' } as const

type Accounts = Pick<
  PeopleAdministration,
  'list' | 'find' | 'update' | 'setDisabled' | 'recover' | 'listFactors' | 'removeFactor'
>

const accountsOf = (service: Service): Accounts => {
  /** Runs `work` with the subject of a person whom the service has. */
  const withSub = async <T>(who: Who, work: (sub: string) => Promise<T>): Promise<T | Refusal<'unknown'>> => {
    const sub = await findSub(service, who)
    return sub === undefined ? unknown : work(sub)
  }
  const find = (who: Who) => withSub(who, (sub) => dataOrRefusal(service.readPerson({ sub }), 'unknown'))
  const listFactors = (who: Who) => withSub(who, async (sub) => (await dataOf(service.listFactors({ sub }))).items)
  return {
    async list({ method }) {
      const people = await allOf((query) => service.listPeople({ query }))
      const local = people.filter(({ source }) => source !== 'external')
      const external = people.filter(({ source }) => source === 'external').toSorted(byMethodAndSubject)
      return [...local, ...external].filter((one) => method === undefined || one.method === method)
    },
    find,
    async update(username, update) {
      const fault = findUpdateFault(update)
      if (fault !== undefined) return { refused: fault }
      return withSub({ username }, async (sub) => {
        const { etag: ifMatch = '' } = await answerOf(service.readPerson({ sub }))
        const changed = await dataOrRefusal(
          service.updatePerson({ sub, ifMatch, body: patchOf(update) }),
          ...(['unknown', 'configured', 'invalid', 'taken', 'username_taken', 'changed_meanwhile'] as const),
        )
        return isRefusal(changed) ? { refused: changed.refused, reason: changed.reason ?? '' } : changed
      })
    },
    setDisabled: (username, disabled) =>
      withSub({ username }, (sub) =>
        dataOrRefusal(disabled ? service.disablePerson({ sub }) : service.enablePerson({ sub }), 'unknown'),
      ),
    recover: (who, expires_in) =>
      withSub(who, async (sub) => {
        const person = await find({ sub })
        const issued = await dataOrRefusal(service.issueRecoveryLink({ sub, body: { expires_in } }), 'off', 'disabled')
        return isRefusal(issued) ? issued : { sub, ...issued, isKnown: !isRefusal(person) }
      }),
    listFactors,
    removeFactor: (who, factor) =>
      withSub(who, async (sub) => {
        const found = (await dataOf(service.listFactors({ sub }))).items.find(({ id }) => id === factor)
        if (found === undefined) return { refused: 'factor' } as const
        const removed = await dataOrRefusal(service.removeFactor({ sub, id: factor }), 'factor')
        return isRefusal(removed) ? removed : found
      }),
  }
}

/** The administration of people through the admin API. */
export const remotePeople = (service: Service): PeopleAdministration => ({
  ...accountsOf(service),
  end: (sub, factors) => dataOf(service.endPerson({ sub, body: { factors } })),
  erase: (sub) => dataOrRefusal(service.erasePerson({ sub }), 'unknown', 'configured'),
  copy: (sub) => dataOrRefusal(service.exportPerson({ sub }), 'unknown'),
  listSessions: (sub) => allOf((query) => service.listSessions({ sub, query })),
  async endSessions(sub, sid) {
    if (sid !== undefined) {
      const ended = await dataOrRefusal(service.endSession({ sub, sid }), 'unknown')
      return isRefusal(ended) ? ended : [sid]
    }
    const { sessions } = await dataOf(service.endSessions({ sub }))
    return sessions.length === 0 ? unknown : sessions
  },
  endAllSessions: () => Promise.reject(storesOnly()),
  endSessionsAt: () => Promise.reject(storesOnly()),
  listGrants: (sub) => allOf((query) => service.listGrants({ sub, query })),
  revokeGrant: () => Promise.reject(storesOnly()),
  revokeGrantsOf: async (sub, client_id) =>
    (await dataOf(service.revokeGrants({ sub, query: client_id === undefined ? {} : { client_id } }))).grants,
  listConsents: (sub) => allOf((query) => service.listConsents({ sub, query })),
  async revokeConsents(sub, client_id) {
    if (client_id !== undefined) {
      const revoked = await dataOrRefusal(service.revokeConsent({ sub, client_id }), 'unknown')
      return isRefusal(revoked) ? revoked : [client_id]
    }
    const { clients } = await dataOf(service.revokeConsents({ sub }))
    return clients.length === 0 ? unknown : clients
  },
})
