import { personalRecordsIn } from '../collections/person-records.js'
import type { PersonalPage } from '../interaction/client-access.js'
import type { Consent } from '../interaction/consent.js'
import type { SessionEntry } from '../interaction/session.js'
import type { GrantEntry } from '../oauth/grants/grant-index.js'
import {
  findPerson,
  listPeopleAfter,
  personEtag,
  type AccountSource,
  type FoundPerson,
  type PersonInList,
} from './accounts.js'
import type { Administration, Operator, Refusal } from './administration.js'
import { listPrincipals, type ListedPrincipal } from './principals.js'
import { reading } from './reading.js'
import { searchPeople, type SearchPage } from './search.js'
import type { ListedSession } from './sessions.js'

/** Lists at most `limit` people after a position. Throws `Unavailable`. */
export const pagePeople = (
  administration: Administration,
  by: Operator,
  which: { readonly source?: AccountSource | undefined; readonly after?: string | undefined },
  limit: number,
): Promise<readonly PersonInList[]> =>
  reading(
    administration,
    by,
    { action: 'person.list' },
    () => listPeopleAfter(administration, which, limit),
    (people) => people.map(({ sub }) => sub),
  )

/** Finds people by words of their name, username, address and subject. Throws `Unavailable`. */
export const findPeople = (
  administration: Administration,
  by: Operator,
  search: Parameters<typeof searchPeople>[1],
): Promise<SearchPage<FoundPerson>> =>
  reading(
    administration,
    by,
    { action: 'person.list' },
    () => searchPeople(administration, search),
    ({ items }) => items.map(({ sub }) => sub),
  )

/** Reads the account of a person with its version. `unknown`: no account has this subject. Throws `Unavailable`. */
export const readPerson = (
  administration: Administration,
  by: Operator,
  sub: string,
): Promise<{ readonly person: FoundPerson; readonly etag: string } | Refusal<'unknown'>> =>
  reading(administration, by, { action: 'person.read', sub }, async () => {
    const person = await findPerson(administration, { sub })
    if ('refused' in person || person.source === undefined) return { refused: 'unknown' }
    return { person, etag: personEtag(person) }
  })

/** One page of what a person has: at most `limit` records, starting at `after`, the `next` of the previous page. */
export interface PageOf {
  readonly sub: string
  readonly after: string | undefined
  readonly limit: number
}

const recordsIn = ({ stores, config, clock }: Administration) => personalRecordsIn(stores, config, clock)

const withoutKey = ({ key: _key, ...session }: SessionEntry): ListedSession => session

/** Throws `Unavailable`, like the other pages. */
export const pageSessions = (
  administration: Administration,
  by: Operator,
  { sub, after, limit }: PageOf,
): Promise<PersonalPage<ListedSession>> =>
  reading(administration, by, { action: 'session.list', sub }, async () => {
    const page = await recordsIn(administration).pageSessions(sub, after, limit)
    return { ...page, found: page.found.map(withoutKey) }
  })

export const pageGrants = (
  administration: Administration,
  by: Operator,
  { sub, after, limit }: PageOf,
): Promise<PersonalPage<GrantEntry>> =>
  reading(administration, by, { action: 'grant.list', sub }, () =>
    recordsIn(administration).pageGrants(sub, after, limit),
  )

export const pageConsents = (
  administration: Administration,
  by: Operator,
  { sub, after, limit }: PageOf,
): Promise<PersonalPage<Consent>> =>
  reading(administration, by, { action: 'consent.list', sub }, () =>
    recordsIn(administration).pageConsents(sub, after, limit),
  )

/** Lists the devices and services that a person has enrolled. */
export const pageDevices = (
  administration: Administration,
  by: Operator,
  { sub, after, limit }: PageOf,
): Promise<PersonalPage<ListedPrincipal>> =>
  reading(administration, by, { action: 'principal.list', sub }, async () => {
    const found: ListedPrincipal[] = []
    const all = listPrincipals(administration, { subject: sub, ...(after !== undefined && { after }) })
    for await (const one of all) {
      const last = found.at(-1)
      if (found.length === limit && last !== undefined) return { found, next: last.id }
      found.push(one)
    }
    return { found }
  })
