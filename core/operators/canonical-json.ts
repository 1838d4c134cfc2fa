import type { JsonValue } from '../json.js'

/**
 * Writes a value as canonical JSON (RFC 8785): members in the order of their UTF-16 code units, and texts and numbers
 * as ECMAScript writes them. Throws `TypeError` for what I-JSON (RFC 7493) does not have: numbers that are not finite,
 * and lone surrogates.
 */
export const canonicalJson = (value: JsonValue): string => {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError('JSON has no such number')
  if (typeof value === 'string') return canonicalText(value)
  if (Array.isArray(value)) return `[${value.map((item: JsonValue) => canonicalJson(item)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value as Readonly<Record<string, JsonValue | undefined>>).flatMap(([name, member]) =>
    member === undefined ? [] : [[name, member] as const],
  )
  const sorted = members.toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${sorted.map(([name, member]) => `${canonicalText(name)}:${canonicalJson(member)}`).join(',')}}`
}

const canonicalText = (text: string): string => {
  if (/\p{Surrogate}/u.test(text)) throw new TypeError('a text has half of a character')
  return JSON.stringify(text)
}
