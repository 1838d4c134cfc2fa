import type { Clock } from '../clock.js'
import { parseStrictJsonObject } from '../../libraries/wire/strict-json.js'
import type { Log } from '../observe/log.js'
import { RecentMap } from '../recent-map.js'
import { Unavailable } from '../unavailable.js'
import { importKnownKeys, type KeySet } from '../jose/key-set.js'
import type { OutboundFetch } from './outbound-fetch.js'

/** How long a fetched set is used. This is also the longest that a key is accepted after its owner withdrew it. */
const maxAgeMs = 600_000
/** A `kid` that is not in the set may be new or invented, so at most one fetch a minute finds out (CA19). */
const refetchMs = 60_000
/** After a failure, no caller waits for another fetch for this long. */
const retryMs = 10_000
const maxOwners = 10_000

interface Entry {
  readonly uri: string
  keys?: KeySet
  fetchedAt: number
  attemptedAt: number
  failed: boolean
  pending?: Promise<void> | undefined
}

/** The owner of a set, for log and outage. */
const owners = {
  client: {
    component: 'clients.jwks_uri',
    log: 'the keys of a client cannot be fetched',
    field: 'client_id',
    outage: 'The keys of the client cannot be fetched',
  },
  statement_issuer: {
    component: 'registration.jwks_uri',
    log: 'the keys of an issuer of software statements cannot be fetched',
    field: 'jwks_uri',
    outage: 'The keys of the issuer of software statements cannot be fetched',
  },
  issuer: {
    component: 'plugins.jwks_uri',
    log: 'the keys of an issuer cannot be fetched',
    field: 'jwks_uri',
    outage: 'The keys of the issuer cannot be fetched',
  },
} as const

export interface RemoteKeySetsOptions {
  readonly owner: keyof typeof owners
  readonly fetch: OutboundFetch
  readonly clock: Clock
  readonly log: Log
}

/** Selects the wanted keys of a set. */
export type PickKeys<Key> = (set: KeySet) => readonly Key[]

/** The sets behind `jwks_uri`, kept apart by owner, so that an outage of one affects no other. */
export interface RemoteKeySets {
  /**
   * What `pick` selects from the set. A set kept for longer than `freshMs` is fetched again first, if possible.
   * Throws `Unavailable` when no key fits and the set could not be fetched.
   */
  find<Key>(ownerId: string, uri: string, pick: PickKeys<Key>, freshMs?: number): Promise<readonly Key[]>
}

const readKeySet = (body: Uint8Array): KeySet => {
  const keys = parseStrictJsonObject(body)?.['keys']
  if (!Array.isArray(keys)) throw new Unavailable('outbound', 'no', 'The document is not a JWK Set')
  // As many keys as fit into a fetched document.
  return importKnownKeys(keys)
}

export const createRemoteKeySets = ({ owner, fetch, clock, log }: RemoteKeySetsOptions): RemoteKeySets => {
  const texts = owners[owner]
  const entries = new RecentMap<string, Entry>(maxOwners)

  const entryOf = (ownerId: string, uri: string): Entry => {
    const known = entries.get(ownerId)
    if (known?.uri === uri) return known
    const entry: Entry = { uri, fetchedAt: -Infinity, attemptedAt: -Infinity, failed: false }
    entries.set(ownerId, entry)
    return entry
  }

  const fetchInto = async (ownerId: string, entry: Entry): Promise<void> => {
    entry.attemptedAt = clock()
    try {
      entry.keys = readKeySet(await fetch(entry.uri, 'application/jwk-set+json, application/json'))
      entry.fetchedAt = clock()
      entry.failed = false
    } catch (error) {
      entry.failed = true
      const reason = error instanceof Error ? error.message : 'unknown error'
      log.warn(texts.log, { [texts.field]: ownerId, reason })
    } finally {
      entry.pending = undefined
    }
  }

  /** Setting the clock back must not extend a lifetime. */
  const isWithin = (at: number, milliseconds: number): boolean => {
    const age = clock() - at
    return age >= 0 && age < milliseconds
  }

  const select = <Key>(entry: Entry, pick: PickKeys<Key>): readonly Key[] =>
    isWithin(entry.fetchedAt, maxAgeMs) && entry.keys !== undefined ? pick(entry.keys) : []

  const mayFetch = (entry: Entry): boolean => {
    const pause = isWithin(entry.fetchedAt, maxAgeMs) ? refetchMs : entry.failed ? retryMs : 0
    return !isWithin(entry.attemptedAt, pause)
  }

  return {
    async find(ownerId, uri, pick, freshMs = maxAgeMs) {
      const entry = entryOf(ownerId, uri)
      const known = select(entry, pick)
      if (known.length > 0 && isWithin(entry.fetchedAt, freshMs)) return known
      // All waiting callers share one fetch.
      if (entry.pending === undefined && mayFetch(entry)) entry.pending = fetchInto(ownerId, entry)
      await entry.pending
      const found = select(entry, pick)
      if (found.length === 0 && entry.failed) throw new Unavailable(texts.component, 'no', texts.outage)
      return found
    },
  }
}
