import { createHash } from 'node:crypto'

/** Entries of one list: 2^20, so that a list of one bit each has 128 KiB. */
export const indexCount = 2 ** 20

const halfBits = 10
const halfMask = 2 ** halfBits - 1
const rounds = 12

/**
 * The secret order in which the indexes of a list are assigned: a permutation, so that none is repeated, which looks
 * random without the seed. It is a Feistel network whose round functions are tables of random numbers.
 */
export const createIndexOrder = (seed: Uint8Array): ((position: number) => number) => {
  const size = 2 ** halfBits
  const bytes = createHash('shake256', { outputLength: rounds * size * 2 })
    .update(seed)
    .digest()
  const table = Uint16Array.from({ length: rounds * size }, (_, at) => bytes.readUInt16LE(at * 2) & halfMask)
  return (position) => {
    let left = position >> halfBits
    let right = position & halfMask
    for (let round = 0; round < rounds; round++) [left, right] = [right, left ^ (table[round * size + right] as number)]
    return (left << halfBits) | right
  }
}
