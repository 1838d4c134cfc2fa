import { createHash } from 'node:crypto'

/** LMDB's limit is 1978 bytes with pages of 4 KiB. The expiry index adds six bytes in front. */
const maxCompositeBytes = 1_000
const maxIdLength = 512
/** This many characters fit into `maxCompositeBytes`, whichever they are. */
const maxUnhashedLength = 300
/** Prefix of ids that are not well-formed UTF-16. No UTF-8 text has this byte, so they stay apart from all others. */
const illFormed = Buffer.from([0xff])

const idBytes = (id: string): Buffer =>
  id.isWellFormed() ? Buffer.from(id) : Buffer.concat([illFormed, Buffer.from(id, 'utf16le')])

/** The key of a record, or undefined for an id that no record can have. Keys are ordered by the UTF-8 of ids. */
export const recordKey = (collection: string, id: string): Buffer | undefined => {
  if (id.length < 1 || id.length > maxIdLength) return undefined
  // The most common case: one string becomes one buffer.
  if (id.isWellFormed()) return Buffer.from(`${collection}\0${id}`)
  return Buffer.concat([rangeStart(collection), idBytes(id)])
}

/** The same, for writing. Throws `RangeError`. */
export const newRecordKey = (collection: string, id: string): Buffer => {
  const key = recordKey(collection, id)
  if (key === undefined) throw new RangeError(`An id has 1 to ${maxIdLength} characters`)
  return key
}

/** The key of an id within a namespace. Both may have any length; keys that are too long are hashed. */
export const compositeKey = (collection: string, namespace: string, id: string): Buffer => {
  if (namespace.length + id.length <= maxUnhashedLength && namespace.isWellFormed() && id.isWellFormed())
    return Buffer.from(`${collection}\0=${namespace.length}:${namespace}${id}`)
  // The length distinguishes `a` + `bc` from `ab` + `c`.
  const bytes = Buffer.concat([Buffer.from(`${namespace.length}:`), idBytes(namespace), idBytes(id)])
  const short = bytes.length <= maxCompositeBytes ? bytes : createHash('sha256').update(bytes).digest()
  return Buffer.concat([rangeStart(collection), Buffer.from(short === bytes ? '=' : '#'), short])
}

export const rangeStart = (collection: string): Buffer => Buffer.from(`${collection}\0`)
export const rangeEnd = (collection: string): Buffer => Buffer.from(`${collection}\x01`)
/** The smallest key after `key`. */
export const keyAfter = (key: Buffer): Buffer => Buffer.concat([key, Buffer.alloc(1)])

/** The id given to `recordKey`. */
export const idOfKey = (collection: string, key: Buffer): string => {
  const id = key.subarray(collection.length + 1)
  return id[0] === illFormed[0] ? id.toString('utf16le', 1) : id.toString()
}

const timeBytes = 6

/**
 * The key of the expiry index: milliseconds, rounded up, then the record's key; ordered by time. Records of one
 * commit with the same lifetime are neighbours. With whole seconds each dirtied its own page, and a claim cost a
 * quarter more.
 */
export const expiryKey = (expires: number, key: Buffer): Buffer => {
  const index = Buffer.allocUnsafe(timeBytes + key.length)
  // An expiry that exceeds six bytes is past the year 10,000. Whole seconds of earlier versions are long past as
  // milliseconds, so the collector moves their entries.
  index.writeUIntBE(Math.min(Math.ceil(expires), 2 ** 48 - 1), 0, timeBytes)
  index.set(key, timeBytes)
  return index
}

/** Every index key of a record expired at `now` is less than this. */
export const expiredBefore = (now: number): Buffer => expiryKey(Math.floor(now) + 1, Buffer.alloc(0))

export const keyOfExpiry = (index: Buffer): Buffer => index.subarray(timeBytes)
