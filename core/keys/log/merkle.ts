import { createHash } from 'node:crypto'

/** A SHA-256 hash of a Merkle tree (RFC 9162 §2.1.1). */
export type Hash = Buffer

export const hashBytes = 32

const prefixes = { leaf: Buffer.of(0), node: Buffer.of(1) } as const

export const leafHash = (entry: Uint8Array): Hash => createHash('sha256').update(prefixes.leaf).update(entry).digest()

export const nodeHash = (left: Hash, right: Hash): Hash =>
  createHash('sha256').update(prefixes.node).update(left).update(right).digest()

const emptyRoot: Hash = createHash('sha256').digest()

/** The largest power of two that is less than `count`. Bits are not used, because sizes may exceed 32 of them. */
export const splitOf = (count: number): number => {
  let split = 1
  while (split * 2 < count) split *= 2
  return split
}

/** The root over these hashes of consecutive subtrees of one height, such as leaves: MTH of RFC 9162 §2.1.1. */
export const rootOf = (hashes: readonly Hash[]): Hash => {
  const root = (begin: number, end: number): Hash => {
    const [only] = end - begin === 1 ? hashes.slice(begin, end) : []
    if (only !== undefined) return only
    const middle = begin + splitOf(end - begin)
    return nodeHash(root(begin, middle), root(middle, end))
  }
  return hashes.length === 0 ? emptyRoot : root(0, hashes.length)
}

/** Reads the root of a complete subtree: that of the leaves from `index * 2**level` on, `2**level` of them. */
export type ReadNode = (level: number, index: number) => Promise<Hash>

/** The root over the leaves from `begin` to `end`, a range that the definition of the tree has. */
export const rangeRoot = async (read: ReadNode, begin: number, end: number): Promise<Hash> => {
  const count = end - begin
  const split = splitOf(count)
  if (count === 1) return read(0, begin)
  if (split * 2 === count) return read(Math.log2(count), begin / count)
  return nodeHash(await rangeRoot(read, begin, begin + split), await rangeRoot(read, begin + split, end))
}

/** The root of the first `size` leaves. */
export const readRoot = async (read: ReadNode, size: number): Promise<Hash> =>
  size === 0 ? emptyRoot : rangeRoot(read, 0, size)
