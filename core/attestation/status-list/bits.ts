import type { RecordStore } from '../../storage/ports.js'
import { indexCount } from './index-order.js'
import { endOf } from './list-ids.js'

export const listBytes = indexCount / 8
/** Bytes of a list in one record. A list has at most 128 records, and none before one of its entries is revoked. */
const partBytes = 1024
const partCount = listBytes / partBytes
const partIndexes = partBytes * 8

/** Id of part `part` of a list, in the order of ids. */
const partId = (list: string, part: number): string => `${list}.${part.toString(16).padStart(2, '0')}`

/**
 * Sets the bit of an index; the lowest bit of a byte belongs to the first index (Token Status List §4.1). Returns the
 * number of bits changed (0 or 1).
 */
const setBit = (bytes: Uint8Array, idx: number): number => {
  const before = bytes[idx >> 3] as number
  bytes[idx >> 3] = before | (1 << (idx & 7))
  return before === bytes[idx >> 3] ? 0 : 1
}

/** Sets bits of a list for all replicas. A set bit is never cleared. Throws `Unavailable`. */
export const setBits = async (bits: RecordStore<string>, list: string, indexes: readonly number[]): Promise<void> => {
  const partOf = (idx: number): number => Math.floor(idx / partIndexes)
  for (const part of new Set(indexes.map(partOf)))
    await bits.update(partId(list, part), (current) => {
      const bytes = current === undefined ? Buffer.alloc(partBytes) : Buffer.from(current, 'base64')
      for (const idx of indexes) if (partOf(idx) === part) setBit(bytes, idx % partIndexes)
      return { result: undefined, write: { record: bytes.toString('base64'), expiresAt: endOf(list) * 1000 } }
    })
}

/** A list as one process knows it. */
export interface Bitmap {
  readonly bytes: Buffer
  /** Changes whenever the bytes do. */
  version: number
  /** How many bits are set. */
  revoked: number
}

export const createBitmap = (): Bitmap => ({ bytes: Buffer.alloc(listBytes), version: 0, revoked: 0 })

/** Adds the bits that the store has. Throws `Unavailable`. */
export const readBits = async (bits: RecordStore<string>, list: string, bitmap: Bitmap): Promise<void> => {
  const found = await bits.list(`${list}.`, partCount)
  for (const { id, record } of found) {
    if (!id.startsWith(`${list}.`)) return
    merge(bitmap, parseInt(id.slice(list.length + 1), 16) * partBytes, Buffer.from(record, 'base64'))
  }
}

/** Sets the bits of these indexes. */
export const addBits = (bitmap: Bitmap, indexes: readonly number[]): void => {
  for (const idx of indexes) bitmap.revoked += setBit(bitmap.bytes, idx)
  bitmap.version++
}

const merge = (bitmap: Bitmap, offset: number, part: Buffer): void => {
  const { bytes } = bitmap
  if (bytes.compare(part, 0, part.length, offset, offset + part.length) === 0) return
  for (let at = 0; at < part.length; at++) {
    const known = bytes[offset + at] as number
    const more = (part[at] as number) & ~known
    if (more === 0) continue
    bytes[offset + at] = known | more
    bitmap.revoked += countBits(more)
  }
  bitmap.version++
}

const countBits = (byte: number): number => {
  let count = 0
  for (let left = byte; left > 0; left &= left - 1) count++
  return count
}
