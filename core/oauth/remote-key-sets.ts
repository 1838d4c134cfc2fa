import type { Clock } from '../clock.js'
import { parseStrictJsonObject } from '../keys/strict-json.js'
import type { Log } from '../observe/log.js'
import { Unavailable } from '../unavailable.js'
import { importKnownKeys, maxKeys, type ClientKey, type ClientKeySet, type WantedKey } from './client-key-set.js'
import type { OutboundFetch } from './outbound-fetch.js'

/** How long a set that was fetched is used: also the longest that a key is accepted after its client withdrew it. */
const maxAgeMs = 600_000
/** A `kid` that is not in the set may be new, or invented: one fetch a minute finds out (attacks CA19). */
const refetchMs = 60_000
/** After a failure, for so long nobody waits for the next one. */
const retryMs = 10_000
const maxClients = 10_000

interface Entry {
  readonly uri: string
  keys?: ClientKeySet
  fetchedAt: number
  attemptedAt: number
  failed: boolean
  pending?: Promise<void> | undefined
}

export interface RemoteKeySetsOptions {
  readonly fetch: OutboundFetch
  readonly clock: Clock
  readonly log: Log
}

/** The sets behind `jwks_uri`, each of its own client alone: what is down for one is down for no other. */
export interface RemoteKeySets {
  /** Throws `Unavailable` when no key fits and the set could not be fetched. */
  find(clientId: string, uri: string, wanted: WantedKey): Promise<readonly ClientKey[]>
}

const readKeySet = (body: Uint8Array): ClientKeySet => {
  const keys = parseStrictJsonObject(body)?.['keys']
  if (!Array.isArray(keys)) throw new Unavailable('outbound', 'no', 'The document is no JWK Set')
  return importKnownKeys(keys.slice(0, maxKeys))
}

export const createRemoteKeySets = ({ fetch, clock, log }: RemoteKeySetsOptions): RemoteKeySets => {
  const entries = new Map<string, Entry>()

  const entryOf = (clientId: string, uri: string): Entry => {
    const known = entries.get(clientId)
    if (known?.uri === uri) return known
    const entry: Entry = { uri, fetchedAt: -Infinity, attemptedAt: -Infinity, failed: false }
    entries.delete(clientId)
    entries.set(clientId, entry)
    const [oldest] = entries.keys()
    if (entries.size > maxClients && oldest !== undefined) entries.delete(oldest)
    return entry
  }

  const fetchInto = async (clientId: string, entry: Entry): Promise<void> => {
    entry.attemptedAt = clock()
    try {
      entry.keys = readKeySet(await fetch(entry.uri, 'application/jwk-set+json, application/json'))
      entry.fetchedAt = clock()
      entry.failed = false
    } catch (error) {
      entry.failed = true
      const reason = error instanceof Error ? error.message : 'unknown error'
      log.warn('the keys of a client cannot be fetched', { client_id: clientId, reason })
    } finally {
      entry.pending = undefined
    }
  }

  const select = (entry: Entry, wanted: WantedKey): readonly ClientKey[] =>
    clock() - entry.fetchedAt < maxAgeMs ? (entry.keys?.select(wanted) ?? []) : []

  const mayFetch = (entry: Entry): boolean => {
    const fresh = clock() - entry.fetchedAt < maxAgeMs
    const pause = fresh ? refetchMs : entry.failed ? retryMs : 0
    return clock() - entry.attemptedAt >= pause
  }

  return {
    async find(clientId, uri, wanted) {
      const entry = entryOf(clientId, uri)
      const known = select(entry, wanted)
      if (known.length > 0) return known
      // All who wait, wait for one fetch.
      if (entry.pending === undefined && mayFetch(entry)) entry.pending = fetchInto(clientId, entry)
      await entry.pending
      const found = select(entry, wanted)
      if (found.length === 0 && entry.failed)
        throw new Unavailable('clients.jwks_uri', 'no', 'The keys of the client cannot be fetched')
      return found
    },
  }
}
