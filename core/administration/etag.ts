import { createHash } from 'node:crypto'
import type { JsonValue } from '../json.js'

/** The members of objects in the order of their names, since a store need not keep their order. */
const sorted = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : value

/** The version of a record as a strong entity tag (RFC 9110 §8.8.3). Equal records have equal tags. */
export const etagOf = (record: JsonValue | object): string =>
  `"${createHash('sha256').update(JSON.stringify(record, sorted)).digest('base64url').slice(0, 22)}"`
