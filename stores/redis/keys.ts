import { createHash } from 'node:crypto'

const maxIdLength = 512
/** Ids that we generate. All others are hashed, for their length and their characters. */
const plain = /^[\w-]{1,64}$/

// Hashes UTF-16, because UTF-8 has no lone surrogates: two ids would become one.
const digest = (text: string): string => createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url')

/** The key of a record, or undefined for an id that no record can have. */
export const recordKey = (collection: string, id: string): string | undefined => {
  if (id.length < 1 || id.length > maxIdLength) return undefined
  return plain.test(id) ? `${collection}:${id}` : `${collection}:#${digest(id)}`
}

/** The same, for writing. Throws `RangeError`. */
export const newRecordKey = (collection: string, id: string): string => {
  const key = recordKey(collection, id)
  if (key === undefined) throw new RangeError(`An id has 1 to ${String(maxIdLength)} characters`)
  return key
}

/** The key of an id within a namespace, both of any length. The length distinguishes `a` + `bc` from `ab` + `c`. */
export const compositeKey = (collection: string, namespace: string, id: string): string =>
  `${collection}:${digest(`${String(namespace.length)}:${namespace}${id}`)}`
