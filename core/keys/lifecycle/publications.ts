import { isoTime } from '../../clock.js'
import { isDeepStrictEqual } from 'node:util'
import { ConfigurationError, type Problem } from '../../../config/problems.js'
import type { Config } from '../../../config/schema.js'
import { keyPurposes } from '../../../config/sections.js'
import type { PublicJwk } from '../../jose/jwk.js'
import type { KeyPurpose, KeyRing, PublishedKey } from '../ports.js'
import { BadJwk, checkPublicJwk } from '../../jose/public-key-guard.js'
import type { RecordStore } from '../../storage/ports.js'
import { keySetMaxAge, retention } from './open-ring.js'

/** What all replicas and all later starts know of a `kid` that was once published. Times are milliseconds since the epoch. */
export interface KeyPublication {
  /** SHA-256 of the public key, base64url (RFC 7638). A `kid` never changes its key (F17). */
  readonly thumbprint: string
  readonly first_published: number
  /** From here on no relying party holds a key set without it; earlier where nobody held one or the operator said so. */
  readonly may_sign_from: number
  /** When it was last taken out of the configuration: published again, it waits again. */
  readonly withdrawn?: number
  /** What is published, also while its signer is away. Older records have none until their key is opened again. */
  readonly jwk?: PublicJwk
  /** As it was last in force; absent likewise. */
  readonly entry?: PublishedEntry
  /** What it may not sign any more, and until when it might. */
  readonly past_purposes?: PastPurposes
}

type PastPurposes = Readonly<Partial<Record<KeyPurpose, number>>>

export type KeyPublications = ReadonlyMap<string, KeyPublication>

type Keys = Config['keys']
export type PublishedEntry = Pick<Keys[number], 'alg' | 'signer' | 'purposes' | 'not_before' | 'not_after'>

/** The start of all replicas of a new deployment takes no longer, milliseconds. */
const firstStartMs = 60_000

/** Every key that was ever published, by `kid`. Throws `Unavailable`. */
export const readPublications = async (store: RecordStore<KeyPublication>): Promise<Map<string, KeyPublication>> => {
  const found = new Map<string, KeyPublication>()
  for (let after: string | undefined; ;) {
    const page = await store.list(after, 100)
    for (const { id, record } of page) found.set(id, record)
    after = page.at(-1)?.id
    if (after === undefined) return found
  }
}

/** The public halves of those of `keys` that were published before. */
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
      // Its signer says what is wrong with it.
      if (!(error instanceof BadJwk)) throw error
    }
  }
  return found
}

/** What each key may have signed, as far as it has not run out. Of a record without an entry nobody knows: it may be anything. */
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

/** True while no relying party can hold a key set of this deployment: nothing was published, or just now by another replica. */
const isFirstStart = (publications: KeyPublications, now: number): boolean =>
  [...publications.values()].every(
    ({ first_published, may_sign_from }) => may_sign_from === first_published && now - first_published < firstStartMs,
  )

/** When a key may sign at the earliest, if it is published now at the latest. */
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
  /** The inventory with each held key's `not_before` moved to the time from which it may sign. */
  readonly keys: Keys
  readonly held: readonly HeldKey[]
  /** By `kid`: from when each may sign; `-Infinity`: at once. */
  readonly from: ReadonlyMap<string, number>
}

/**
 * Holds back every key that would sign before it has been published for as long as a key set is cached. A `start` that is
 * the first of its deployment holds nothing back. Pure.
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

/** The same when `kid`, whose signer was away until now, is published only now. Pure. */
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
  const kept = keys.map((key, index) => {
    const until = from.get(key.kid) ?? -Infinity
    const over = key.not_after !== undefined && key.not_after <= now
    if (over || Math.max(key.not_before ?? -Infinity, now) >= until) return key
    held.push({ path: `keys[${String(index)}].not_before`, kid: key.kid, until })
    return { ...key, not_before: until }
  })
  return { keys: kept, held, from }
}

/** The held keys that a reload refuses. One that waits already, as it is written, goes on waiting. Pure. */
export const findEarlyKeys = (
  { held }: Pick<KeyInventory, 'held'>,
  isWaiting: (kid: string) => boolean,
): readonly Problem[] => held.filter(({ kid }) => !isWaiting(kid)).map(describeHeld)

/**
 * The inventory as a reload of the service would have it; before anything was published, as the first start would. Pure.
 */
export const inventoryAtReload = (keys: Keys, publications: KeyPublications, now: number): KeyInventory =>
  holdBack(keys, publications, now, publications.size === 0 ? 'start' : 'running')

/** The message about a held key: at a reload a problem, at a start a warning. */
export const describeHeld = ({ path, kid, until }: HeldKey): Problem => ({
  path,
  message:
    `${kid} may sign from ${isoTime(until)}: until then relying parties may have a cached key set without it ` +
    `(max-age ${String(keySetMaxAge)} s); allow_early: true lets it sign at once`,
})

/** What is said of a key that is not the one that its `kid` was published with (F17). */
export const describeExchanged = (kid: string, known: KeyPublication): string =>
  `is not the key that was published as ${kid} on ${isoTime(known.first_published)}: ` +
  'relying parties would refuse its tokens; a new key needs a kid of its own'

/** Is `key` published, and is it the same entry of the inventory as it was then? */
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

/** What is taken from a key now joins what was taken from it before; what it has again leaves. */
const pastPurposes = (known: KeyPublication | undefined, { purposes }: PublishedEntry, now: number): PastPurposes => {
  const had = known === undefined ? [] : (known.entry?.purposes ?? keyPurposes)
  const past = { ...known?.past_purposes, ...Object.fromEntries(had.map((purpose) => [purpose, now])) }
  for (const purpose of purposes) delete past[purpose]
  return past
}

/**
 * Remembers what `ring` publishes, adds it to `publications` and returns the kids that are newly published. A key that
 * its signer has never opened is published later. Throws `ConfigurationError` when another replica has published
 * another key under the same `kid` in the meantime, `Unavailable`.
 */
export const recordPublications = async (
  store: RecordStore<KeyPublication>,
  { keys, from }: Pick<KeyInventory, 'keys' | 'from'>,
  ring: KeyRing,
  publications: Map<string, KeyPublication>,
  now: number,
): Promise<readonly string[]> => {
  const fresh: string[] = []
  for (const [index, key] of keys.entries()) {
    const { kid } = key
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
      throw new ConfigurationError([{ path: `keys[${String(index)}].ref`, message }])
    }
    publications.set(kid, current ?? record)
    if (isFresh) fresh.push(kid)
  }
  return fresh
}

/**
 * Remembers that these keys are published all the same: a replica that started with another configuration, an older one
 * perhaps, took them for withdrawn. Throws `Unavailable`.
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

/** Remembers that these keys are published no more, in `publications` too. Throws `Unavailable`. */
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
