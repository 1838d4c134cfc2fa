import { createHash } from 'node:crypto'

const maxIdLength = 512
/** Longer names are hashed, so that index entries stay small. */
const maxCompositeLength = 600

/** Client input must be text here, because an object would act as a query operator. */
export const onlyText = (text: unknown): string => {
  if (typeof text !== 'string') throw new TypeError('Not a string')
  return text
}

/**
 * Text as it is stored. Code points from U+D7FF on are written as U+D7FF and six digits: this preserves lone
 * surrogates, which BSON's UTF-8 cannot hold, and makes comparison by code units the same as by code points.
 */
export const storedText = (text: string): string => {
  if (!/[\ud7ff-\uffff]/.test(text)) return text
  let stored = ''
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    stored += point < 0xd7ff ? character : `\ud7ff${point.toString(16).padStart(6, '0')}`
  }
  return stored
}

/** Restores the argument of `storedText`. */
export const textOf = (stored: string): string =>
  stored.replaceAll(/\ud7ff([0-9a-f]{6})/g, (_, point: string) => String.fromCodePoint(Number.parseInt(point, 16)))

/** The `_id` of a record, or undefined for an id that no record can have. */
export const recordId = (id: string): string | undefined => {
  const stored = storedText(onlyText(id))
  return id.length < 1 || id.length > maxIdLength ? undefined : stored
}

/** The same, for writing. Throws `RangeError`. */
export const newRecordId = (id: string): string => {
  const stored = recordId(id)
  if (stored === undefined) throw new RangeError(`An id has 1 to ${maxIdLength} characters`)
  return stored
}

/** The `_id` of an id within a namespace. Both may have any length; long ones are hashed. */
export const compositeId = (namespace: string, id: string): string => {
  // The length distinguishes `a` + `bc` from `ab` + `c`.
  const stored = `${namespace.length}:${storedText(onlyText(namespace))} ${storedText(onlyText(id))}`
  if (stored.length <= maxCompositeLength) return stored
  return `#${createHash('sha256').update(stored).digest('base64url')}`
}
