export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
/** What a JWT claims set or a metadata document is: a JSON object (RFC 8259 §4). */
export interface JsonObject {
  readonly [name: string]: JsonValue | undefined
}

export function isObject(value: JsonValue | undefined): value is JsonObject
export function isObject(value: unknown): value is Readonly<Record<string, unknown>>
/** Whether `value` is an object with members: neither null nor an array. */
export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Freezes and returns the value, so that nobody can change it for the next reader. */
export const frozen = <T extends JsonValue | undefined>(value: T): T => {
  if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) frozen(child as JsonValue)
  return Object.freeze(value)
}

/** Names that every plain object inherits. No member sent by others may have one of them. */
export const inheritedNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Whether such a name occurs at any depth. Limit the depth first. */
export const hasInheritedName = (value: JsonValue | undefined): boolean => {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([name, inner]: [string, JsonValue | undefined]) => inheritedNames.has(name) || hasInheritedName(inner),
  )
}
