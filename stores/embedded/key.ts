import { createHash } from 'node:crypto'

/** LMDB's limit is 1978 bytes with pages of 4 KiB; the expiry index puts six bytes in front. */
const maxCompositeBytes = 1_000
const maxIdLength = 512
/** So many characters are within `maxCompositeBytes` whatever they are. */
const surelyShort = 300
/** Begins ids that are not well-formed UTF-16: no UTF-8 text has this byte, so they stay apart from all others. */
const illFormed = Buffer.from([0xff])

const idBytes = (id: string): Buffer =>
  id.isWellFormed() ? Buffer.from(id) : Buffer.concat([illFormed, Buffer.from(id, 'utf16le')])

/** The key of a record, or undefined for an id that no record can have. Keys are in the order of the ids' UTF-8. */
export const recordKey = (collection: string, id: string): Buffer | undefined => {
  if (id.length < 1 || id.length > maxIdLength) return undefined
  // Most keys of most requests: one string becomes one buffer.
  if (id.isWellFormed()) return Buffer.from(`${collection}\0${id}`)
  return Buffer.concat([rangeStart(collection), idBytes(id)])
}

/** The same where a record is to be written. Throws `RangeError`. */
export const newRecordKey = (collection: string, id: string): Buffer => {
  const key = recordKey(collection, id)
  if (key === undefined) throw new RangeError(`An id has 1 to ${maxIdLength} characters`)
  return key
}

/** The key of an id within a namespace. Both may be of any length: what does not fit is hashed. */
export const compositeKey = (collection: string, namespace: string, id: string): Buffer => {
  if (namespace.length + id.length <= surelyShort && namespace.isWellFormed() && id.isWellFormed())
    return Buffer.from(`${collection}\0=${namespace.length}:${namespace}${id}`)
  // The length keeps `a` + `bc` apart from `ab` + `c`.
  const bytes = Buffer.concat([Buffer.from(`${namespace.length}:`), idBytes(namespace), idBytes(id)])
  const short = bytes.length <= maxCompositeBytes ? bytes : createHash('sha256').update(bytes).digest()
  return Buffer.concat([rangeStart(collection), Buffer.from(short === bytes ? '=' : '#'), short])
}

export const rangeStart = (collection: string): Buffer => Buffer.from(`${collection}\0`)
export const rangeEnd = (collection: string): Buffer => Buffer.from(`${collection}\x01`)
/** The least key after `key`. */
export const keyAfter = (key: Buffer): Buffer => Buffer.concat([key, Buffer.alloc(1)])

/** The id that `recordKey` was given. */
export const idOfKey = (collection: string, key: Buffer): string => {
  const id = key.subarray(collection.length + 1)
  return id[0] === illFormed[0] ? id.toString('utf16le', 1) : id.toString()
}

const timeBytes = 6

/**
 * The key of the expiry index: milliseconds, rounded up, then the record's key; in the order of time. Records of one commit
 * that live equally long come to lie beside each other: with whole seconds each dirtied a page of its own, and a claim
 * cost a quarter more.
 */
export const expiryKey = (expires: number, key: Buffer): Buffer => {
  const index = Buffer.allocUnsafe(timeBytes + key.length)
  // An expiry past what six bytes hold is past the year 10,000. Whole seconds of earlier versions are long over as
  // milliseconds: the collector moves their entries.
  index.writeUIntBE(Math.min(Math.ceil(expires), 2 ** 48 - 1), 0, timeBytes)
  index.set(key, timeBytes)
  return index
}

/** Every index key of what has expired at `now` is less than this. */
export const expiredBefore = (now: number): Buffer => expiryKey(Math.floor(now) + 1, Buffer.alloc(0))

export const keyOfExpiry = (index: Buffer): Buffer => index.subarray(timeBytes)
