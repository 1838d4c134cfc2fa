import { epochSeconds, type Clock } from '../../clock.js'
import type { AuthorizationDetail } from '../requests/authorization-details.js'
import { RecentMap } from '../../recent-map.js'
import type { RecordStore } from '../../storage/ports.js'
import type { Grant } from './grant.js'
import { grantedAtOf } from './grant-id.js'
import { isOffline } from '../requests/scope.js'
import { subjectRecordId } from '../subjects/subject-records.js'

/** A grant of a person to a client, listed so that an operator can find it by the person. */
export interface GrantEntry {
  readonly grantId: string
  readonly clientId: string
  readonly subject: string
  /** The session in which it was granted. */
  readonly sid?: string
  readonly scope: readonly string[]
  /** The value of the grant. */
  readonly offline?: true
  readonly resource: readonly string[]
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** Seconds since the epoch, like `grantedAt`. */
  readonly authTime: number
  readonly grantedAt: number
}

/**
 * The index of grants. It is written while a person waits, and never for the tokens that come from a grant. All
 * methods throw `Unavailable`.
 */
export interface GrantIndex {
  add(grant: Grant): Promise<void>
  /** Adds a grant that is missing, because an earlier version may have issued it. */
  complete(grant: Grant): Promise<void>
  /** Removes a grant that did not complete. */
  remove(grant: Grant): Promise<void>
}

export interface GrantIndexOptions {
  readonly store: RecordStore<GrantEntry>
  readonly clock: Clock
  /** Seconds from the moment of the grant until its last token has expired. */
  readonly lifetime: { readonly offline: number; readonly online: number }
}

export const grantEntryId = ({ subject, grantId }: Pick<GrantEntry, 'subject' | 'grantId'>): string =>
  subjectRecordId(subject, grantId)

/** The input of `grantEntryId`, which costs a digest. */
const seenName = ({ subject, grantId }: Grant): string => `${grantId}\n${subject}`

/** Each entry takes 120 bytes. */
const maxSeen = 10_000

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
  /** Remembers entries that exist. Each lasts as long as the last token of its grant. */
  const seen = new RecentMap<string, 'seen'>(maxSeen)
  return {
    add: (grant) => write(grant, epochSeconds(clock), false),
    async complete(grant) {
      // Every version that writes the time into the id writes the entry first, so such a grant is in the index.
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
 * Tells whether a grant exists under this id. The index is ordered by person, so all of it is read. Grants without a
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
