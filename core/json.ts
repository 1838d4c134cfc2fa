export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
/** What a JWT claims set or a metadata document is: a JSON object (RFC 8259 §4). */
export interface JsonObject {
  readonly [name: string]: JsonValue | undefined
}

export function isObject(value: JsonValue | undefined): value is JsonObject
export function isObject(value: unknown): value is Readonly<Record<string, unknown>>
/** An object with members: neither null nor an array. */
export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The same value, which nobody can change for the next who is given it. */
export const frozen = <T extends JsonValue | undefined>(value: T): T => {
  if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) frozen(child as JsonValue)
  return Object.freeze(value)
}

/** Names that a plain object answers to by itself; nothing that others send is called so. */
export const inheritedNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Has it such a name at any depth? Limit the depth before. */
export const hasInheritedName = (value: JsonValue | undefined): boolean => {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([name, inner]: [string, JsonValue | undefined]) => inheritedNames.has(name) || hasInheritedName(inner),
  )
}
