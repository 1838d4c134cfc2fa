import { encodeEntry, type KeyLogEntry, type KeyLogStep } from './entry.js'
import { leafHash, rootOf, type Hash } from './merkle.js'
import { decodeHashes, encodeHashes, levelSize, tileWidth } from './tiles.js'

/** A key as the log last described it. */
export type LoggedKey = Omit<KeyLogEntry, 'time'>

/** The growing end of the log, in one record, so that an append is one atomic change. */
export interface KeyLogHead {
  readonly kind: 'head'
  readonly size: number
  /** The hashes of the last tile of each level, 0 to 256 of them, as base64. */
  readonly edges: readonly string[]
  /** The entries of the last bundle, 0 to 256 of them. */
  readonly entries: readonly string[]
  /** The keys that are in use, and those of the last ones that are not. */
  readonly keys: readonly LoggedKey[]
  /** The last signed checkpoint. It is that of a smaller log while the newest entries have not been signed. */
  readonly checkpoint?: string
  /** The size that the checkpoint is of. */
  readonly signed: number
}

/** Keys that ended, of which the head knows the last step. More would make every append slower. */
const mostEnded = 128

/** A record of the log's collection: the head, or a full tile or bundle by its path. */
export type KeyLogRecord =
  | KeyLogHead
  | { readonly kind: 'tile'; readonly hashes: string }
  | { readonly kind: 'entries'; readonly entries: readonly string[] }

export const emptyHead: KeyLogHead = { kind: 'head', size: 0, edges: [], entries: [], keys: [], signed: 0 }

/** The index of the last tile of a level, which the head holds. */
export const edgeIndex = ({ size, edges }: KeyLogHead, level: number): number =>
  Math.floor((levelSize(level, size) - decodeHashes(edges[level] ?? '').length) / tileWidth)

const endings: readonly KeyLogStep[] = ['gone', 'withdrawn', 'destroyed']

export const isEnded = ({ step }: Pick<KeyLogEntry, 'step'>): boolean => endings.includes(step)

const withoutTime = ({ time: _time, ...key }: KeyLogEntry): LoggedKey => key

/** The keys after these entries. Those that ended long ago are forgotten; their entries stay. */
const keysAfter = (keys: readonly LoggedKey[], added: readonly KeyLogEntry[]): readonly LoggedKey[] => {
  const byKid = new Map(keys.map((key) => [key.kid, key]))
  for (const key of added.map(withoutTime)) {
    byKid.delete(key.kid)
    byKid.set(key.kid, key)
  }
  const all = [...byKid.values()]
  const forgotten = new Set(all.filter(isEnded).slice(0, -mostEnded))
  return all.filter((key) => !forgotten.has(key))
}

/**
 * The head after these entries, which fit into its last bundle or, when that is full, into the next one. What is full
 * is left out, and must have been stored. Pure.
 */
export const appendTo = (head: KeyLogHead, added: readonly KeyLogEntry[]): KeyLogHead => {
  const withoutFull = <T>(list: readonly T[]): T[] => (list.length === tileWidth ? [] : [...list])
  const edges = head.edges.map((edge) => withoutFull(decodeHashes(edge)))
  const push = (level: number, hash: Hash): void => {
    const edge = (edges[level] ??= [])
    edge.push(hash)
    if (edge.length === tileWidth) push(level + 1, rootOf(edge))
  }
  const entries = added.map(encodeEntry)
  for (const entry of entries) push(0, leafHash(Buffer.from(entry)))
  return {
    ...head,
    size: head.size + added.length,
    edges: edges.map(encodeHashes),
    entries: [...withoutFull(head.entries), ...entries],
    keys: keysAfter(head.keys, added),
  }
}
