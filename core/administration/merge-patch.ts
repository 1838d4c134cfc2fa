import type { JsonObject, JsonValue } from '../json.js'

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Applies a patch to an object (RFC 7396 §2): null removes a member, and an object changes one in the same way. */
export const mergePatch = (target: JsonValue | undefined, patch: JsonObject): JsonObject => {
  const merged = new Map<string, JsonValue | undefined>(isObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name)
    else merged.set(name, isObject(value) ? mergePatch(merged.get(name), value) : value)
  }
  return Object.fromEntries(merged)
}
