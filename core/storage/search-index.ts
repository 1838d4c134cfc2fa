import { hash } from 'node:crypto'
import type { Clock } from '../clock.js'
import type { RecordDecision, RecordStore, StorageBackend } from './ports.js'

/** The name of the collection of the index. */
export const searchIndexName = 'search_index'

/** An entry for one word of one record. It may be of a record that has changed or is gone. */
export interface SearchEntry {
  /** The member that identifies the record in a search: `client_id`, `sub`. */
  readonly of: string
}

/** The words and the identifier of a record; undefined for one that no search finds. */
export interface Searchable {
  readonly of: string
  readonly words: readonly string[]
}

export type SearchKind = 'client' | 'person'

/** A word in the characters of ids, so that its order and its prefixes are the same in every store. */
const encode = (word: string): string =>
  [...Buffer.from(word)]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      return /[a-z0-9]/.test(character) ? character : `~${byte.toString(16).padStart(2, '0')}`
    })
    .join('')

/** Returns the prefix of the ids of all entries for words with this beginning. */
export const entryPrefix = (kind: SearchKind, word: string): string => `${kind}.${encode(word)}`

const entryId = (kind: SearchKind, word: string, of: string): string =>
  `${entryPrefix(kind, word)}.${hash('sha256', of, 'base64url').slice(0, 22)}`

/** The word of an entry, encoded: `entryPrefix` without the kind. */
export const wordOfEntry = (id: string): string => id.split('.')[1] ?? ''

/** Tells which of these words comes first in the index among those with a beginning. */
export const firstWith = (words: readonly string[], beginning: string): string | undefined =>
  words
    .map(encode)
    .filter((word) => word.startsWith(encode(beginning)))
    .toSorted()[0]

type NewEntry = Parameters<NonNullable<RecordStore<SearchEntry>['putAll']>>[0][number]

/** Single writes at the same time, to a store that cannot write many in one step. */
const lanes = 64

const putAll = async (entries: RecordStore<SearchEntry>, all: readonly NewEntry[]): Promise<void> => {
  if (entries.putAll !== undefined) return entries.putAll(all)
  const waiting = all.values()
  const lane = async (): Promise<void> => {
    for (const { id, record, ttlSeconds } of waiting)
      await entries.put(id, record, ttlSeconds === undefined ? {} : { ttlSeconds })
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

/** Writes entries, those of all records that are written at the same time in one step. Throws `Unavailable`. */
type EntryWriter = (entries: readonly NewEntry[]) => Promise<void>

const createEntryWriter = (entries: RecordStore<SearchEntry>): EntryWriter => {
  let gathered: NewEntry[] = []
  let writing: Promise<void> | undefined
  const writeGathered = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve))
    const all = gathered
    gathered = []
    writing = undefined
    await putAll(entries, all)
  }
  return (added) => {
    for (const one of added) gathered.push(one)
    return (writing ??= writeGathered())
  }
}

interface IndexedCollection<T> {
  readonly store: RecordStore<T>
  readonly entries: RecordStore<SearchEntry>
  readonly write: EntryWriter
  readonly kind: SearchKind
  readonly searchable: (record: T) => Searchable | undefined
  readonly clock: Clock
}

const entriesOf = (kind: SearchKind, { of, words }: Searchable, ttlSeconds?: number): NewEntry[] =>
  words.map((word) => ({
    id: entryId(kind, word, of),
    record: { of },
    ...(ttlSeconds !== undefined && { ttlSeconds }),
  }))

/** Writes the entries of a record. Throws `Unavailable`. */
const writeEntries = async (
  { write, kind }: Pick<IndexedCollection<never>, 'write' | 'kind'>,
  found: Searchable | undefined,
  ttlSeconds: number | undefined,
): Promise<void> => {
  if (found !== undefined && found.words.length > 0) await write(entriesOf(kind, found, ttlSeconds))
}

/** Adds the entries that records lack, for records that were written without. Throws `Unavailable`. */
export const completeEntries = async (
  entries: RecordStore<SearchEntry>,
  kind: SearchKind,
  records: readonly Searchable[],
): Promise<void> => {
  const missing: NewEntry[] = []
  for (const record of records) {
    const all = entriesOf(kind, record)
    const known = await Promise.all(all.map(({ id }) => entries.find(id)))
    missing.push(...all.filter((_, index) => known[index] === undefined))
  }
  if (missing.length > 0) await putAll(entries, missing)
}

/** A search ignores what an entry is not right about, so nothing depends on this. */
const removeEntries = async (
  { entries, kind }: Pick<IndexedCollection<never>, 'entries' | 'kind'>,
  before: Searchable | undefined,
  kept: readonly string[] = [],
): Promise<void> => {
  const words = before?.words.filter((word) => !kept.includes(word)) ?? []
  await Promise.allSettled(words.map((word) => entries.remove(entryId(kind, word, before?.of ?? ''))))
}

/**
 * The same collection, whose records are found by their words. Entries are written before the record, so that no
 * record is without them.
 */
export const indexedCollection = <T>(collection: IndexedCollection<T>): RecordStore<T> => {
  const { store, searchable, clock } = collection
  const secondsUntil = (expiresAt: number | undefined): number | undefined =>
    expiresAt === undefined ? undefined : Math.max(1, Math.ceil((expiresAt - clock()) / 1000))

  return {
    find: (id) => store.find(id),
    list: (after, limit) => store.list(after, limit),
    async put(id, record, options) {
      await writeEntries(collection, searchable(record), options?.ttlSeconds)
      return store.put(id, record, options)
    },
    async remove(id) {
      const before = await store.find(id)
      const removed = await store.remove(id)
      if (before !== undefined) await removeEntries(collection, searchable(before))
      return removed
    },
    async update<Result>(id: string, decide: RecordDecision<T, Result>): Promise<Result> {
      type Seen = { readonly before: T | undefined; readonly expiresAt: number | undefined }
      const foreseen = await store.update(id, (before, expiresAt) => {
        const { result, write } = decide(before, expiresAt)
        return { result: { result, write, seen: { before, expiresAt } satisfies Seen } }
      })
      const { write, seen } = foreseen
      if (write === undefined) return foreseen.result
      const [old, now] = [wordsIn(seen.before), write === null ? undefined : searchable(write.record)]
      const isListed =
        now === undefined ||
        (seen.expiresAt === write?.expiresAt && now.words.every((word) => old?.words.includes(word)))
      if (!isListed) await writeEntries(collection, now, secondsUntil(write?.expiresAt))
      let written: T | undefined
      const result = await store.update(id, (before, expiresAt) => {
        const step = decide(before, expiresAt)
        written = step.write === undefined ? before : step.write?.record
        return step
      })
      // Another writer may have been faster than what was foreseen.
      const after = wordsIn(written)
      const missing = after?.words.filter((word) => !now?.words.includes(word) && !old?.words.includes(word)) ?? []
      if (after !== undefined && missing.length > 0)
        await writeEntries(collection, { of: after.of, words: missing }, undefined)
      await removeEntries(collection, old, after?.words)
      return result
    },
  }

  function wordsIn(record: T | undefined): Searchable | undefined {
    return record === undefined ? undefined : searchable(record)
  }
}

/** The searchable part of a collection of a store. */
export interface SearchedCollection {
  readonly kind: SearchKind
  readonly searchable: (record: never) => Searchable | undefined
}

/** The same store, whose named collections are indexed, whoever writes to them. */
export const withSearchIndex = (
  backend: StorageBackend,
  searched: ReadonlyMap<string, SearchedCollection>,
  clock: Clock,
): StorageBackend => {
  const entries = backend.records<SearchEntry>(searchIndexName)
  const write = createEntryWriter(entries)
  return {
    records<T>(name: string): RecordStore<T> {
      const store = backend.records<T>(name)
      const found = searched.get(name)
      if (found === undefined) return store
      const searchable = found.searchable as (record: T) => Searchable | undefined
      return indexedCollection({ store, entries, write, kind: found.kind, searchable, clock })
    },
    oneTime: (name) => backend.oneTime(name),
    replayGuard: (name) => backend.replayGuard(name),
    counters: (name) => backend.counters(name),
    refreshFamilies: (name) => backend.refreshFamilies(name),
    revocations: (name) => backend.revocations(name),
    deviceCodes: (name) => backend.deviceCodes(name),
    room: backend.room,
    ping: (signal) => backend.ping(signal),
    ...(backend.describe && { describe: backend.describe.bind(backend) }),
    ...(backend.schema && { schema: backend.schema }),
    ...(backend.warnings && { warnings: backend.warnings.bind(backend) }),
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  }
}
