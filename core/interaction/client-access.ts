import type { GrantEntry } from '../oauth/grants/grant-index.js'
import { pageSubjectRecords } from '../oauth/subjects/subject-records.js'
import type { RecordStore } from '../storage/ports.js'
import { consentId, type Consent } from './consent.js'

/** One page of what a person has. */
export interface PersonalPage<T> {
  readonly found: readonly T[]
  /** Where the next page begins. Absent when there is none. */
  readonly next?: string
}

/** What one client has of a person: valid grants, remembered consent, or both. */
export interface ClientAccess {
  readonly clientId: string
  readonly grants: readonly GrantEntry[]
  readonly consent?: Consent
}

export interface ClientAccessOptions {
  readonly grantIndex: RecordStore<GrantEntry>
  readonly consents: RecordStore<Consent>
  /** Returns those of these grants of the subject that are valid. Throws `Unavailable`. */
  readonly filterGood: (subject: string, entries: readonly GrantEntry[]) => Promise<readonly GrantEntry[]>
}

/** The most grant entries read for one page, however few clients they belong to. */
const maxEntries = 500
const pageSize = 100

/** A page begins among the grants or, when they have all been shown, among the remembered consents. */
const cursor = { grants: 'g.', consents: 'c.' } as const

const pageOf = (found: readonly ClientAccess[], allowed: string | undefined): PersonalPage<ClientAccess> => ({
  found,
  ...(allowed !== undefined && { next: cursor.consents + allowed }),
})

/** Lists clients, page by page, with what they have of a person. Throws `Unavailable`. */
export const createPageAccess = ({ grantIndex, consents, filterGood }: ClientAccessOptions) => {
  /** Adds the grants from `after` on. Resolves with the position to continue from when there are more than fit. */
  const addGranted = async (
    byClient: Map<string, GrantEntry[]>,
    subject: string,
    after: string | undefined,
    most: number,
  ): Promise<string | undefined> => {
    let last = after
    for (let read = 0; read < maxEntries; read += pageSize) {
      const { entries, more } = await pageSubjectRecords(grantIndex, subject, last, pageSize)
      const good = new Set(
        await filterGood(
          subject,
          entries.map(({ record }) => record),
        ),
      )
      for (const { name, record } of entries) {
        const known = byClient.get(record.clientId)
        if (known !== undefined && good.has(record)) known.push(record)
        if (known === undefined && good.has(record)) {
          if (byClient.size === most) return last ?? ''
          byClient.set(record.clientId, [record])
        }
        last = name
      }
      if (!more) return undefined
    }
    return last
  }

  /** Adds the clients that have only remembered consent. It resolves as `addGranted` does. */
  const addAllowed = async (
    found: ClientAccess[],
    subject: string,
    {
      shown,
      after,
      most,
    }: { readonly shown: ReadonlyMap<string, unknown>; readonly after?: string; readonly most: number },
  ): Promise<string | undefined> => {
    let last = after
    for (;;) {
      const { entries, more } = await pageSubjectRecords(consents, subject, last, pageSize)
      for (const { name, record } of entries) {
        if (!shown.has(record.clientId)) {
          if (found.length === most) return last ?? ''
          found.push({ clientId: record.clientId, grants: [], consent: record })
        }
        last = name
      }
      if (!more) return undefined
    }
  }

  return async (subject: string, after: string | undefined, most: number): Promise<PersonalPage<ClientAccess>> => {
    const from = after?.slice(cursor.grants.length)
    const granted = new Map<string, GrantEntry[]>()
    if (after?.startsWith(cursor.consents)) {
      await addGranted(granted, subject, undefined, Infinity)
      const found: ClientAccess[] = []
      return pageOf(found, await addAllowed(found, subject, { shown: granted, ...(from && { after: from }), most }))
    }
    const more = await addGranted(granted, subject, from, most)
    const all = [...granted].map(async ([clientId, grants]): Promise<ClientAccess> => {
      const consent = await consents.find(consentId(subject, clientId))
      return { clientId, grants, ...(consent && { consent }) }
    })
    const found = await Promise.all(all)
    if (more !== undefined) return { found, next: cursor.grants + more }
    return pageOf(found, await addAllowed(found, subject, { shown: granted, most }))
  }
}
