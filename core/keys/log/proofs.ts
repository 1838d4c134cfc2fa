import { nodeHash, rangeRoot, splitOf, type Hash, type ReadNode } from './merkle.js'

/** The inclusion proof of the leaf `index` in the tree of `size` leaves: PATH of RFC 9162 §2.1.3.1. */
export const inclusionProof = async (read: ReadNode, index: number, size: number): Promise<readonly Hash[]> => {
  const proof: Hash[] = []
  let [begin, end] = [0, size]
  while (end - begin > 1) {
    const middle = begin + splitOf(end - begin)
    if (index < middle) {
      proof.unshift(await rangeRoot(read, middle, end))
      end = middle
    } else {
      proof.unshift(await rangeRoot(read, begin, middle))
      begin = middle
    }
  }
  return proof
}

/** The consistency proof of the trees of `first` and of `size` leaves: PROOF of RFC 9162 §2.1.4.1; `first` is not 0. */
export const consistencyProof = async (read: ReadNode, first: number, size: number): Promise<readonly Hash[]> => {
  const proof: Hash[] = []
  let [begin, end] = [0, size]
  while (end !== first) {
    const middle = begin + splitOf(end - begin)
    if (first <= middle) {
      proof.unshift(await rangeRoot(read, middle, end))
      end = middle
    } else {
      proof.unshift(await rangeRoot(read, begin, middle))
      begin = middle
    }
  }
  // The verifier has the root of the first tree already, unless that is only a part of the subtree that is left.
  return begin === 0 ? proof : [await rangeRoot(read, begin, end), ...proof]
}

const half = (number: number): number => Math.floor(number / 2)
const isOdd = (number: number): boolean => number % 2 === 1

/** Tells whether `proof` shows that `leaf` has this index in the tree of `size` leaves (RFC 9162 §2.1.3.2). */
export const verifyInclusion = (
  leaf: Hash,
  index: number,
  proof: readonly Hash[],
  { size, root }: { readonly size: number; readonly root: Hash },
): boolean => {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return false
  let [node, last, hash] = [index, size - 1, leaf]
  for (const sibling of proof) {
    if (last === 0) return false
    if (isOdd(node) || node === last) {
      hash = nodeHash(sibling, hash)
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)]
    } else hash = nodeHash(hash, sibling)
    ;[node, last] = [half(node), half(last)]
  }
  return last === 0 && hash.equals(root)
}

/** Tells whether `proof` shows that the second tree begins with all leaves of the first (RFC 9162 §2.1.4.2). */
export const verifyConsistency = (
  first: { readonly size: number; readonly root: Hash },
  proof: readonly Hash[],
  second: { readonly size: number; readonly root: Hash },
): boolean => {
  if (first.size > second.size || first.size < 1) return false
  if (first.size === second.size) return proof.length === 0 && first.root.equals(second.root)
  let [node, last] = [first.size - 1, second.size - 1]
  while (isOdd(node)) [node, last] = [half(node), half(last)]
  // A complete first tree is itself the first hash.
  const [start, ...siblings] = node === 0 ? [first.root, ...proof] : proof
  if (start === undefined) return false
  let [before, after] = [start, start]
  for (const sibling of siblings) {
    if (last === 0) return false
    if (isOdd(node) || node === last) {
      before = nodeHash(sibling, before)
      after = nodeHash(sibling, after)
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)]
    } else after = nodeHash(after, sibling)
    ;[node, last] = [half(node), half(last)]
  }
  return last === 0 && before.equals(first.root) && after.equals(second.root)
}
