import { parseCheckpoint, type Checkpoint } from './checkpoint.js'
import { edgeIndex, type KeyLogHead } from './head.js'
import { damaged, readHead, tileId, type KeyLogStore } from './log-store.js'
import { readRoot, rootOf, type Hash, type ReadNode } from './merkle.js'
import { consistencyProof, inclusionProof } from './proofs.js'
import { decodeHashes, levelSize, tileWidth, tilesOf, type Tile } from './tiles.js'

type Reading = Pick<KeyLogStore, 'find'>

/** The hashes of a tile, as many as there are. Throws `Unavailable`. */
const readHashes = async (store: Reading, head: KeyLogHead, level: number, index: number): Promise<readonly Hash[]> => {
  if (index === edgeIndex(head, level)) return decodeHashes(head.edges[level] ?? '')
  const record = await store.find(tileId(level, index))
  if (record?.kind !== 'tile') throw damaged()
  return decodeHashes(record.hashes)
}

/** The entries of a bundle, as many as there are. Throws `Unavailable`. */
const readBundle = async (store: Reading, head: KeyLogHead, index: number): Promise<readonly string[]> => {
  if (index === edgeIndex(head, 0)) return head.entries
  const record = await store.find(tileId('entries', index))
  if (record?.kind !== 'entries') throw damaged()
  return record.entries
}

/** Tells whether a log with this head has a tile of at least this width. */
export const hasTile = ({ size }: KeyLogHead, { level, index, width }: Tile): boolean =>
  index * tileWidth + width <= levelSize(level === 'entries' ? 0 : level, size)

/**
 * Reads the hashes of a tile, or the entries of a bundle: exactly as wide as `tile` says. It takes at most one read of
 * the store. Undefined when the log is not that large. Throws `Unavailable`.
 */
export const readTile = async (
  store: Reading,
  head: KeyLogHead,
  tile: Tile,
): Promise<{ readonly hashes: readonly Hash[] } | { readonly entries: readonly string[] } | undefined> => {
  if (!hasTile(head, tile)) return undefined
  const { level, index, width } = tile
  return level === 'entries'
    ? { entries: (await readBundle(store, head, index)).slice(0, width) }
    : { hashes: (await readHashes(store, head, level, index)).slice(0, width) }
}

/** Reads the roots of complete subtrees from tiles. Each tile is read once. */
const createReadNode = (store: Reading, head: KeyLogHead): ReadNode => {
  const tiles = new Map<string, Promise<readonly Hash[]>>()
  return async (height, index) => {
    const level = Math.floor(height / 8)
    const count = 2 ** (height % 8)
    const first = index * count
    const tile = Math.floor(first / tileWidth)
    const name = tileId(level, tile)
    const hashes = tiles.get(name) ?? readHashes(store, head, level, tile)
    tiles.set(name, hashes)
    const found = (await hashes).slice(first % tileWidth, (first % tileWidth) + count)
    if (found.length < count) throw damaged()
    return rootOf(found)
  }
}

/** Proves what the log in a store holds, as it was when the prover was opened. All sizes are at most `size`. */
export interface LogProver {
  readonly size: number
  /** The root of the first `size` entries. Throws `Unavailable`. */
  root(size: number): Promise<Hash>
  /** For `verifyInclusion`: the entry `index`, counted from 0, is in the log of `size` entries. Throws `Unavailable`. */
  inclusion(index: number, size: number): Promise<readonly Hash[]>
  /** For `verifyConsistency`: the log of `size` entries begins with that of `first`. Throws `Unavailable`. */
  consistency(first: number, size: number): Promise<readonly Hash[]>
}

export const openProver = (store: Reading, head: KeyLogHead): LogProver => {
  const read = createReadNode(store, head)
  const within = (least: number, ...numbers: readonly number[]): void => {
    if (numbers.some((number, place) => number < least || number > (numbers[place + 1] ?? head.size)))
      throw new RangeError('the log has no such size or entry')
  }
  return {
    size: head.size,
    root: async (size) => {
      within(0, size)
      return readRoot(read, size)
    },
    inclusion: async (index, size) => {
      within(1, index + 1, size)
      return inclusionProof(read, index, size)
    },
    consistency: async (first, size) => {
      within(1, first, size)
      return consistencyProof(read, first, size)
    },
  }
}

/** A signed copy of the log. */
export interface KeyLogCopy {
  /** The signed note of the checkpoint. */
  readonly note: string
  readonly checkpoint: Checkpoint
  /** The entries that the checkpoint covers, in their order, as they are hashed. `decodeEntry` reads one. */
  readonly entries: readonly string[]
  readonly prover: LogProver
}

/**
 * Reads the whole log, up to its last signed checkpoint. Undefined when nothing was signed yet. Nothing is verified.
 * Throws `Unavailable`, also when records contradict each other.
 */
export const readKeyLog = async (store: Reading): Promise<KeyLogCopy | undefined> => {
  const head = await readHead(store)
  if (head.checkpoint === undefined) return undefined
  const checkpoint = parseCheckpoint(head.checkpoint)
  if (checkpoint?.size !== head.signed) throw damaged()
  const entries: string[] = []
  for (const { index, width } of tilesOf('entries', head.signed))
    entries.push(...(await readBundle(store, head, index)).slice(0, width))
  if (entries.length !== head.signed) throw damaged()
  return { note: head.checkpoint, checkpoint, entries, prover: openProver(store, head) }
}
