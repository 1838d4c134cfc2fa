import { isDeepStrictEqual } from 'node:util'
import type { RecordDecision, RecordStore } from '../../storage/ports.js'
import { Unavailable } from '../../unavailable.js'
import type { KeyLogEntry } from './entry.js'
import { appendTo, edgeIndex, emptyHead, type KeyLogHead, type KeyLogRecord, type LoggedKey } from './head.js'
import { decodeHashes, formatTilePath, tileWidth, type Tile } from './tiles.js'

export type KeyLogStore = RecordStore<KeyLogRecord>

/** One append makes this many attempts when others keep filling the next bundle. */
const mostAttempts = 10

const headId = 'head'

/** Creates the error for contradictory records. Nothing is appended or signed then. */
export const damaged = (): Unavailable =>
  new Unavailable('storage.records', 'no', 'the key log in the store was damaged or changed: restore the store')

const headOf = (record: KeyLogRecord = emptyHead): KeyLogHead => {
  if (record.kind !== 'head') throw damaged()
  return record
}

/** Reads the head, which is empty before the first entry. Throws `Unavailable`. */
export const readHead = async (store: Pick<KeyLogStore, 'find'>): Promise<KeyLogHead> =>
  headOf(await store.find(headId))

/** The id of the record of a full tile or bundle. */
export const tileId = (level: Tile['level'], index: number): string =>
  formatTilePath({ level, index, width: tileWidth })

/** The full tiles and bundles that only this head holds. */
const fullParts = (head: KeyLogHead): readonly (readonly [id: string, record: KeyLogRecord])[] => {
  const { entries, edges } = head
  const tiles = edges.flatMap((hashes, level): [string, KeyLogRecord][] => {
    const isFull = decodeHashes(hashes).length === tileWidth
    return isFull ? [[tileId(level, edgeIndex(head, level)), { kind: 'tile', hashes }]] : []
  })
  const bundle: KeyLogRecord = { kind: 'entries', entries }
  return entries.length < tileWidth ? tiles : [[tileId('entries', edgeIndex(head, 0)), bundle], ...tiles]
}

/**
 * Stores the full parts of a head that is in the store, before the next append leaves them out of it. A process that
 * was paused before this writes the same again. Throws `Unavailable`, also when there is something else in their place.
 */
const storeFullParts = async (store: KeyLogStore, head: KeyLogHead): Promise<void> => {
  for (const [id, record] of fullParts(head)) {
    const isNew = await store.put(id, record, { onlyIfAbsent: true })
    if (!isNew && !isDeepStrictEqual(await store.find(id), record)) throw damaged()
  }
}

type Step = ReturnType<
  RecordDecision<KeyLogRecord, { readonly head: KeyLogHead; readonly outcome: 'done' | 'more' | 'full' }>
>

/**
 * Appends the entries that `decide` derives from the keys in the log. It is pure, and is called again when another
 * process was faster. The entries are not signed yet. Returns the head afterwards. Throws `Unavailable`.
 */
export const appendEntries = async (
  store: KeyLogStore,
  decide: (keys: readonly LoggedKey[]) => readonly KeyLogEntry[],
): Promise<KeyLogHead> => {
  let stored = -1
  for (let attempt = 0; attempt < mostAttempts;) {
    const { head, outcome } = await store.update(headId, (record): Step => {
      const current = headOf(record)
      const entries = decide(current.keys)
      if (entries.length === 0) return { result: { head: current, outcome: 'done' } }
      const isFull = current.entries.length === tileWidth
      if (isFull && stored !== current.size) return { result: { head: current, outcome: 'full' } }
      // No more than what completes the bundle, which has to be stored before it is left out.
      const room = isFull ? tileWidth : tileWidth - current.entries.length
      const next = appendTo(current, entries.slice(0, room))
      return { result: { head: next, outcome: entries.length <= room ? 'done' : 'more' }, write: { record: next } }
    })
    if (outcome === 'done') return head
    if (outcome === 'full') attempt++
    await storeFullParts(store, head)
    stored = head.size
  }
  throw new Unavailable('storage.records', 'no', 'other processes append to the key log all the time')
}

/**
 * Keeps a checkpoint of `size` entries, unless there is one of a larger log by now. The entries are in the store
 * already, so that no checkpoint is ever signed of a log that another process has overtaken. Throws `Unavailable`.
 */
export const writeCheckpoint = (store: KeyLogStore, checkpoint: string, size: number): Promise<void> =>
  store.update(headId, (record) => {
    const current = headOf(record)
    if (current.signed >= size || current.size < size) return { result: undefined }
    return { result: undefined, write: { record: { ...current, checkpoint, signed: size } } }
  })
