import type { JsonObject, JsonValue } from '../../../core/api/index.js'
import type { Principal } from '../../../core/api/attestation.js'
import type { Rule } from './options.js'
import { fill, findClaim } from './template.js'

const escapePattern = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)

/** `*` matches one or more characters except `/` and `:`, which separate the parts of platform names. */
const toPattern = (text: string): RegExp => new RegExp(`^${text.split('*').map(escapePattern).join('[^/:]+')}$`, 'u')

const matches = (wanted: string | number | boolean, value: JsonValue | undefined): boolean =>
  typeof wanted === 'string' && wanted.includes('*')
    ? typeof value === 'string' && toPattern(wanted).test(value)
    : value === wanted

/** Undefined when the rule is for other tokens or another principal, or an attribute cannot be filled in. */
const apply = (rule: Rule, claims: JsonObject, principal: Principal): { attributes?: JsonObject } | undefined => {
  const { subject, principal_id, principal_type } = rule.principal
  if (principal.principalType !== principal_type) return undefined
  if (!Object.entries(rule.when).every(([path, wanted]) => matches(wanted, findClaim(claims, path)))) return undefined
  if (fill(subject, claims) !== principal.subject || fill(principal_id, claims) !== principal.principalId)
    return undefined
  if (rule.attributes === undefined) return {}
  const filled = Object.entries(rule.attributes).map(
    ([name, value]) => [name, typeof value === 'string' ? fill(value, claims) : value] as const,
  )
  return filled.some(([, value]) => value === undefined) ? undefined : { attributes: Object.fromEntries(filled) }
}

/** The grant of the first rule that lets a token with these claims enrol this principal, or undefined. */
export const findGrant = (
  rules: readonly Rule[],
  claims: JsonObject,
  principal: Principal,
): { readonly attributes?: JsonObject } | undefined => {
  for (const rule of rules) {
    const granted = apply(rule, claims, principal)
    if (granted !== undefined) return granted
  }
  return undefined
}
