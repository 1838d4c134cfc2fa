type JsonValue = string | number | boolean | null | readonly JsonValue[] | StrictJsonObject

/** A JSON object without repeated members. */
export interface StrictJsonObject {
  readonly [name: string]: JsonValue | undefined
}

/** Much deeper than any of our tokens or a client's, and shallow enough for recursion. */
const maxDepth = 32

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses UTF-8 JSON text that must be an object without repeated member names at any depth (RFC 7519 §4 lets a reader
 * refuse them; otherwise readers that take the first and readers that take the last would see two tokens in one).
 * Undefined for anything else, and for nesting deeper than 32. Limit the size first.
 */
export const parseStrictJsonObject = (bytes: Uint8Array): StrictJsonObject | undefined => {
  let text: string
  let value: JsonValue
  try {
    text = utf8.decode(bytes)
    value = JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  // Every member has one colon outside strings. `JSON.parse` keeps one of several members with the same name, however
  // they are escaped, so fewer members than colons means that some were repeated.
  return countMembers(value, 0) === countColons(text) ? (value as StrictJsonObject) : undefined
}

/** NaN, which equals no number of colons, when the nesting is too deep. */
const countMembers = (value: JsonValue | undefined, depth: number): number => {
  if (typeof value !== 'object' || value === null) return 0
  if (depth === maxDepth) return NaN
  const children: readonly (JsonValue | undefined)[] = Object.values(value)
  const own = Array.isArray(value) ? 0 : children.length
  return children.reduce<number>((sum, child) => sum + countMembers(child, depth + 1), own)
}

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a

/** The text must be valid JSON. */
const countColons = (text: string): number => {
  let count = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === quote) inString = !inString
    else if (inString && code === backslash) index++
    else if (!inString && code === colon) count++
  }
  return count
}
