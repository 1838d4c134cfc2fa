import { epochSeconds, type Clock } from '../../clock.js'
import type { AuthorizationDetail } from '../requests/authorization-details.js'
import { RecentMap } from '../../recent-map.js'
import type { RecordStore } from '../../storage/ports.js'
import type { Grant } from './grant.js'
import { grantedAtOf } from './grant-id.js'
import { isOffline } from '../requests/scope.js'
import { subjectRecordId } from '../subjects/subject-records.js'

/** What a person granted a client, so that an operator can find it by the person. */
export interface GrantEntry {
  readonly grantId: string
  readonly clientId: string
  readonly subject: string
  /** Of the session in which it was granted. */
  readonly sid?: string
  readonly scope: readonly string[]
  /** As of the grant. */
  readonly offline?: true
  readonly resource: readonly string[]
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** Seconds since the epoch, as `grantedAt`. */
  readonly authTime: number
  readonly grantedAt: number
}

/** Written where a person waits, and never for the tokens that come of a grant. Everything throws `Unavailable`. */
export interface GrantIndex {
  add(grant: Grant): Promise<void>
  /** Adds a grant that is not there: an earlier version may have given it. */
  complete(grant: Grant): Promise<void>
  /** For a grant that came to nothing. */
  remove(grant: Grant): Promise<void>
}

export interface GrantIndexOptions {
  readonly store: RecordStore<GrantEntry>
  readonly clock: Clock
  /** Seconds until the last token of a grant has run out, counted from the moment when it was granted. */
  readonly lifetime: { readonly offline: number; readonly online: number }
}

export const grantEntryId = ({ subject, grantId }: Pick<GrantEntry, 'subject' | 'grantId'>): string =>
  subjectRecordId(subject, grantId)

/** What `grantEntryId` is made from, which costs a digest. */
const seenName = ({ subject, grantId }: Grant): string => `${grantId}\n${subject}`

/** 120 bytes each. */
const mostSeen = 10_000

export const createGrantIndex = ({ store, clock, lifetime }: GrantIndexOptions): GrantIndex => {
  const write = async (grant: Grant, grantedAt: number, onlyIfAbsent: boolean): Promise<void> => {
    const { grantId, clientId, subject, scope, resource, authorizationDetails, authentication } = grant
    const entry = {
      ...{ grantId, clientId, subject, scope, resource, authTime: authentication.auth_time },
      ...(grant.offline && { offline: grant.offline }),
      ...(authorizationDetails && { authorizationDetails }),
      ...(authentication.sid !== undefined && { sid: authentication.sid }),
    }
    const ttlSeconds = isOffline(grant) ? lifetime.offline : lifetime.online
    await store.put(grantEntryId(grant), { ...entry, grantedAt }, { ttlSeconds, onlyIfAbsent })
  }
  /** Remembers entries that exist: each lasts as long as the last token of its grant. */
  const seen = new RecentMap<string, 'seen'>(mostSeen)
  return {
    add: (grant) => write(grant, epochSeconds(clock), false),
    async complete(grant) {
      // Every version that writes the time into the id writes the entry first.
      if (grantedAtOf(grant.grantId) !== undefined) return
      const name = seenName(grant)
      if (seen.get(name) !== undefined) return
      if ((await store.find(grantEntryId(grant))) === undefined)
        await write(grant, grant.authentication.auth_time, true)
      else seen.set(name, 'seen')
    },
    async remove(grant) {
      seen.delete(seenName(grant))
      await store.remove(grantEntryId(grant))
    },
  }
}

/**
 * Has anybody granted a client something under this id? The index is by person, so all of it is read. Grants without a
 * person, those of `client_credentials`, leave no entry. Throws `Unavailable`.
 */
export const hasGrantEntry = async (index: RecordStore<GrantEntry>, grantId: string): Promise<boolean> => {
  for (let after: string | undefined; ;) {
    const page = await index.list(after, 1000)
    if (page.some(({ record }) => record.grantId === grantId)) return true
    after = page.at(-1)?.id
    if (after === undefined) return false
  }
}
