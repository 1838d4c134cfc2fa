import { isoTime } from '../../clock.js'
import { isDeepStrictEqual } from 'node:util'
import { ConfigurationError, type Problem } from '../../../config/problems.js'
import type { Config } from '../../../config/schema.js'
import { keyPurposes } from '../../../config/keys.js'
import type { PublicJwk } from '../../jose/jwk.js'
import type { KeyPurpose, KeyRing, PublishedKey } from '../ports.js'
import { BadJwk, checkPublicJwk } from '../../jose/public-key-guard.js'
import type { RecordStore } from '../../storage/ports.js'
import type { InventoryEntry } from './inventory.js'
import { keySetMaxAge, retention } from './open-ring.js'

/**
 * What all replicas and later starts know of a `kid` that was published once. Times are milliseconds since the epoch.
 */
export interface KeyPublication {
  /** SHA-256 of the public key, base64url (RFC 7638). A `kid` never changes its key (F17). */
  readonly thumbprint: string
  readonly first_published: number
  /**
   * From this time no relying party can hold a key set without it. Earlier when no key set was cached anywhere, or
   * when the operator said so.
   */
  readonly may_sign_from: number
  /** When it was last removed from the configuration. If it is published again, it must wait again. */
  readonly withdrawn?: number
  /** The published key, kept while its signer is away. Older records lack it until their key is opened again. */
  readonly jwk?: PublicJwk
  /** The entry as it was last in force. Older records lack it too. */
  readonly entry?: PublishedEntry
  /** Purposes that it no longer has, and until when it may have signed for them. */
  readonly past_purposes?: PastPurposes
}

type PastPurposes = Readonly<Partial<Record<KeyPurpose, number>>>

export type KeyPublications = ReadonlyMap<string, KeyPublication>

type Keys = readonly InventoryEntry[]
export type PublishedEntry = Pick<Keys[number], 'alg' | 'signer' | 'purposes' | 'not_before' | 'not_after'>

/** The longest time in which all replicas of a new deployment start, in milliseconds. */
const firstStartMs = 60_000

/** Reads every key that was ever published, by `kid`. Throws `Unavailable`. */
export const readPublications = async (store: RecordStore<KeyPublication>): Promise<Map<string, KeyPublication>> => {
  const found = new Map<string, KeyPublication>()
  for (let after: string | undefined; ;) {
    const page = await store.list(after, 100)
    for (const { id, record } of page) found.set(id, record)
    after = page.at(-1)?.id
    if (after === undefined) return found
  }
}

/** The public halves of those `keys` that were published before. */
export const findPublished = (
  keys: readonly Pick<Keys[number], 'kid' | 'alg'>[],
  publications: KeyPublications,
): Map<string, Omit<PublishedKey, 'purposes'>> => {
  const found = new Map<string, Omit<PublishedKey, 'purposes'>>()
  for (const { kid, alg } of keys) {
    const known = publications.get(kid)
    if (known?.jwk === undefined) continue
    try {
      const { jwk, publicKey, thumbprint } = checkPublicJwk(known.jwk, [alg])
      if (thumbprint === known.thumbprint) found.set(kid, { kid, alg, jwk, publicKey })
    } catch (error) {
      // The signer reports what is wrong with it.
      if (!(error instanceof BadJwk)) throw error
    }
  }
  return found
}

/**
 * What each key may have signed that has not expired. For a record without an entry this is unknown, so it may be
 * anything.
 */
export const findEarlierPurposes = (
  config: Config,
  publications: KeyPublications,
  now: number,
): Map<string, readonly KeyPurpose[]> => {
  const lives = (purpose: KeyPurpose, until = -Infinity): boolean => now < until + retention(config, [purpose]) * 1000
  return new Map(
    [...publications].map(([kid, { entry, past_purposes: past = {} }]) => [
      kid,
      entry === undefined ? keyPurposes : keyPurposes.filter((p) => entry.purposes.includes(p) || lives(p, past[p])),
    ]),
  )
}

/**
 * True while no relying party can hold a key set of this deployment: nothing was published, or another replica has
 * only just done so.
 */
export const isFirstStart = (publications: KeyPublications, now: number): boolean =>
  [...publications.values()].every(
    ({ first_published, may_sign_from }) => may_sign_from === first_published && now - first_published < firstStartMs,
  )

/** The earliest time at which a key may sign, if it is published by now at the latest. */
const maySignFrom = (key: Keys[number], publications: KeyPublications, now: number): number => {
  if (key.allow_early) return -Infinity
  const known = publications.get(key.kid)
  return known === undefined || known.withdrawn !== undefined ? now + keySetMaxAge * 1000 : known.may_sign_from
}

/** A key that would sign before relying parties can know it. */
export interface HeldKey {
  readonly path: string
  readonly kid: string
  readonly until: number
}

export interface KeyInventory {
  /** The inventory, with `not_before` of each held key moved to the time from which it may sign. */
  readonly keys: Keys
  readonly held: readonly HeldKey[]
  /** When each key may sign, by `kid`. `-Infinity` means at once. */
  readonly from: ReadonlyMap<string, number>
}

/**
 * Holds back every key that would sign before it has been published for as long as key sets are cached. The first
 * `start` of a deployment holds nothing back. Pure.
 */
export const holdBack = (
  keys: Keys,
  publications: KeyPublications,
  now: number,
  situation: 'start' | 'running',
): KeyInventory => {
  const exempt = situation === 'start' && isFirstStart(publications, now)
  const from = new Map(keys.map((key) => [key.kid, exempt ? -Infinity : maySignFrom(key, publications, now)]))
  return holdUntil(keys, from, now)
}

/** The same for a `kid` whose signer was away until now, so that it is published late. Pure. */
export const holdLate = (
  kid: string,
  before: KeyInventory,
  ...[keys, publications, now, situation]: Parameters<typeof holdBack>
): KeyInventory => {
  const late = holdBack(keys, publications, now, situation).from.get(kid) ?? -Infinity
  return holdUntil(keys, new Map([...before.from, [kid, late]]), now)
}

const holdUntil = (keys: Keys, from: KeyInventory['from'], now: number): KeyInventory => {
  const held: HeldKey[] = []
  const kept = keys.map((key) => {
    const until = from.get(key.kid) ?? -Infinity
    const over = key.not_after !== undefined && key.not_after <= now
    if (over || Math.max(key.not_before ?? -Infinity, now) >= until) return key
    held.push({ path: `${key.path}.not_before`, kid: key.kid, until })
    return { ...key, not_before: until }
  })
  return { keys: kept, held, from }
}

/**
 * The held keys for which a reload is refused. A key that is already waiting with the same entry keeps waiting. Pure.
 */
export const findEarlyKeys = (
  { held }: Pick<KeyInventory, 'held'>,
  isWaiting: (kid: string) => boolean,
): readonly Problem[] => held.filter(({ kid }) => !isWaiting(kid)).map(describeHeld)

/** The inventory as a reload would load it; before anything was published, as the first start would. Pure. */
export const inventoryAtReload = (keys: Keys, publications: KeyPublications, now: number): KeyInventory =>
  holdBack(keys, publications, now, publications.size === 0 ? 'start' : 'running')

/** The message about a held key: a problem at a reload, a warning at a start. */
export const describeHeld = ({ path, kid, until }: HeldKey): Problem => ({
  path,
  message:
    `${kid} may sign from ${isoTime(until)}: until then relying parties may have a cached key set without it ` +
    `(max-age ${String(keySetMaxAge)} s); allow_early: true lets it sign at once`,
})

/** The message about a key that is not the one its `kid` was published with (F17). */
export const describeExchanged = (kid: string, known: KeyPublication): string =>
  `is not the key that was published as ${kid} on ${isoTime(known.first_published)}: ` +
  'relying parties would refuse its tokens; a new key needs a kid of its own'

/** Whether `key` is published with the same inventory entry as now. */
export const isInForce = (key: Keys[number], publications: KeyPublications): boolean => {
  const known = publications.get(key.kid)
  return known !== undefined && known.withdrawn === undefined && isDeepStrictEqual(known.entry, entryOf(key))
}

const entryOf = ({ alg, signer, purposes, not_before, not_after }: Keys[number]): PublishedEntry => ({
  alg,
  signer,
  purposes,
  ...(not_before !== undefined && { not_before }),
  ...(not_after !== undefined && { not_after }),
})

/** Purposes removed now are added to those removed before; purposes that it has again are taken out. */
const pastPurposes = (known: KeyPublication | undefined, { purposes }: PublishedEntry, now: number): PastPurposes => {
  const had = known === undefined ? [] : (known.entry?.purposes ?? keyPurposes)
  const past = { ...known?.past_purposes, ...Object.fromEntries(had.map((purpose) => [purpose, now])) }
  for (const purpose of purposes) delete past[purpose]
  return past
}

/**
 * Remembers what `ring` publishes, adds it to `publications` and returns the newly published kids. A key that its
 * signer has never opened is published later. Throws `ConfigurationError` when another replica has meanwhile
 * published another key under the same `kid`, and `Unavailable`.
 */
export const recordPublications = async (
  store: RecordStore<KeyPublication>,
  { keys, from }: Pick<KeyInventory, 'keys' | 'from'>,
  ring: KeyRing,
  publications: Map<string, KeyPublication>,
  now: number,
): Promise<readonly string[]> => {
  const fresh: string[] = []
  for (const key of keys) {
    const { kid, path } = key
    const published = ring.publishedKey(kid)
    if (published === undefined) continue
    const known = publications.get(kid)
    const entry = entryOf(key)
    const isFresh = known === undefined || known.withdrawn !== undefined
    const isEarlier = key.allow_early && known !== undefined && known.may_sign_from > now
    if (!isFresh && !isEarlier && known.jwk !== undefined && isDeepStrictEqual(known.entry, entry)) continue
    const { jwk, thumbprint } = checkPublicJwk(published.jwk, [published.alg])
    const may_sign_from = isFresh || isEarlier ? Math.max(from.get(kid) ?? -Infinity, now) : known.may_sign_from
    const first_published = known?.first_published ?? now
    const past_purposes = pastPurposes(known, entry, now)
    const record: KeyPublication = { thumbprint, first_published, may_sign_from, jwk, entry, past_purposes }
    const added = await store.put(kid, record, { onlyIfAbsent: known === undefined })
    const current = added ? record : await store.find(kid)
    if (current !== undefined && current.thumbprint !== thumbprint) {
      const message = describeExchanged(kid, current)
      throw new ConfigurationError([{ path: `${path}.ref`, message }])
    }
    publications.set(kid, current ?? record)
    if (isFresh) fresh.push(kid)
  }
  return fresh
}

/**
 * Remembers that these keys are still published, although a replica with another configuration, perhaps an older one,
 * marked them as withdrawn. Throws `Unavailable`.
 */
export const recordStillPublished = async (
  store: RecordStore<KeyPublication>,
  kids: readonly string[],
  isPublished: (kid: string) => boolean,
): Promise<void> => {
  for (const kid of kids) {
    const record = await store.find(kid)
    if (record === undefined) continue
    const { withdrawn, ...known } = record
    if (withdrawn !== undefined && isPublished(kid)) await store.put(kid, known)
  }
}

/** Remembers that these keys are no longer published, in `publications` too. Throws `Unavailable`. */
export const recordWithdrawals = async (
  store: RecordStore<KeyPublication>,
  publications: Map<string, KeyPublication>,
  kids: readonly string[],
  now: number,
): Promise<void> => {
  for (const kid of kids) {
    const known = await store.find(kid)
    if (known === undefined) continue
    const withdrawn = { ...known, withdrawn: now }
    publications.set(kid, withdrawn)
    await store.put(kid, withdrawn)
  }
}
