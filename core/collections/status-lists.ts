import type { Config } from '../../config/schema.js'
import { createPrincipalRegistry, type PrincipalRegistry } from '../attestation/principal-registry.js'
import { createStatusIndexes } from '../attestation/status-list/indexes.js'
import { createListIds, type ListIds } from '../attestation/status-list/list-ids.js'
import { createListsHere, type ListsHere } from '../attestation/status-list/lists-here.js'
import { createTokenStatus, type TokenStatus } from '../attestation/status-list/token-status.js'
import type { Clock } from '../clock.js'
import { Durations } from '../observe/counts.js'
import { collections, type Collections } from './collections.js'
import type { Stores } from './stores.js'

/** The parts of status lists that survive a reload. */
export interface StatusLists {
  readonly ids: ListIds
  readonly here: ListsHere
  readonly tokenStatus: TokenStatus
  readonly builds: Durations
}

/** A generous limit in seconds on the time that a request takes from its index to the `iat` of its attestation. */
const requestSeconds = 60

/** Returns undefined without `attestation.status_list`. */
export const openStatusLists = (
  { attestation, clock_tolerance_secs: tolerance }: Config,
  { secrets, statusLists: lists, statusListBits: bits, statusListEntries: entries }: Collections,
  clock: Clock,
): StatusLists | undefined => {
  if (attestation?.status_list === undefined) return undefined
  const ids = createListIds(secrets)
  const here = createListsHere(bits, clock)
  const tokenSeconds = attestation.attestation_ttl_secs + tolerance + requestSeconds
  const nextIndex = createStatusIndexes({ lists, ids, clock, tokenSeconds })
  const revoked = here.revoked.bind(here)
  const builds = new Durations()
  return {
    ids,
    here,
    builds,
    tokenStatus: createTokenStatus({ entries, bits, nextIndex, tokenSeconds, clock, revoked }),
  }
}

/** Opens the principals in these stores. A revocation reaches the status lists of all replicas within seconds. */
export const openPrincipals = (stores: Stores, config: Config, clock: Clock): PrincipalRegistry => {
  const stored = collections(stores)
  return createPrincipalRegistry(stored, openStatusLists(config, stored, clock)?.tokenStatus)
}
