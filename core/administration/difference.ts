import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from '../json.js'

/**
 * The members that differ between two versions of a record, for the audit log. Mask secrets first: a secret that was
 * replaced by another then does not differ.
 */
export const differenceOf = (
  before: object,
  after: object,
): { readonly before: JsonObject; readonly after: JsonObject } => {
  const [old, now] = [before, after] as [Readonly<Record<string, JsonValue>>, Readonly<Record<string, JsonValue>>]
  const changed = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (name) => !isDeepStrictEqual(old[name], now[name]),
  )
  const only = (record: Readonly<Record<string, JsonValue>>): JsonObject =>
    Object.fromEntries(changed.flatMap((name) => (record[name] === undefined ? [] : [[name, record[name]]])))
  return { before: only(old), after: only(now) }
}
