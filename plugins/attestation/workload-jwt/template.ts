import type { JsonObject, JsonValue } from '../../../core/api/index.js'

/** `{repository}`, `{kubernetes.io/serviceaccount/name}`: a claim, or a member within one. */
const placeholder = /\{([^{}]+)\}/g

/** Why a text cannot be a template, or undefined if it can. */
export const findTemplateFault = (template: string): string | undefined => {
  if (/[{}]/.test(template.replaceAll(placeholder, ''))) return 'has a brace that is not part of {claim}'
  // With two adjacent claims, the boundary between them is ambiguous.
  return template.includes('}{') ? 'must have text between two claims' : undefined
}

/** The member at a path of names separated by `/`. `~1` is a `/` within a name, `~0` a `~` (RFC 6901 §4). */
export const findClaim = (claims: JsonObject, path: string): JsonValue | undefined => {
  let value: JsonValue | undefined = claims
  for (const part of path.split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
      return undefined
    value = (value as JsonObject)[name]
  }
  return value
}

/** Undefined when a claim is missing, or is neither text nor a number. */
export const fill = (template: string, claims: JsonObject): string | undefined => {
  const missing: string[] = []
  const text = template.replaceAll(placeholder, (_match, path: string) => {
    const value = findClaim(claims, path)
    if (typeof value === 'string' && value !== '') return value
    if (typeof value === 'number') return String(value)
    missing.push(path)
    return ''
  })
  return missing.length === 0 ? text : undefined
}
