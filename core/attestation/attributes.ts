import { hasInheritedName, type JsonObject, type JsonValue } from '../json.js'

/** The attributes without `status`, which is reserved for the core. */
export const withoutStatus = (attributes: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => name !== 'status'))

const maxAttributesBytes = 4096
const maxDepth = 5
const maxKeys = 64

/** Why attributes cannot be carried, in constant words. An attestation has to fit into a header. */
export const findAttributesFault = (attributes: JsonObject): string | undefined => {
  const measured = measure(attributes)
  if (measured.depth > maxDepth || measured.keys > maxKeys)
    return 'The attributes are nested too deep, or there are too many.'
  if (measured.hasNull) return 'An attribute has no value.'
  if (Buffer.byteLength(JSON.stringify(attributes)) > maxAttributesBytes) return 'The attributes are too long.'
  return hasInheritedName(attributes) ? 'An attribute has a name that is not accepted.' : undefined
}

interface Measured {
  readonly depth: number
  readonly keys: number
  readonly hasNull: boolean
}

const measure = (value: JsonValue | undefined): Measured => {
  if (typeof value !== 'object' || value === null) return { depth: 0, keys: 0, hasNull: value === null }
  const inner = (Object.values(value) as readonly (JsonValue | undefined)[]).map(measure)
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    keys: inner.reduce((sum, { keys }) => sum + keys, Array.isArray(value) ? 0 : inner.length),
    hasNull: inner.some(({ hasNull }) => hasNull),
  }
}
