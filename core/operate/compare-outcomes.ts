import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from '../json.js'

export interface Difference {
  readonly token: string
  /** A path such as `header.typ` or `claims.exp`. */
  readonly where: string
  readonly left: string
  readonly right: string
  /** Whether the difference results from the two issuers. */
  readonly allowed: boolean
}

export interface Issued {
  readonly header: JsonObject
  readonly claims: JsonObject
}

/** The result of one order: a token whose signature verifies, or the reason there is none. */
export type Outcome = Issued | { readonly failure: string }

/** This deployment issues nothing that was asked for. */
export const notIssued: Outcome = { failure: 'is not issued' }

/** Members that may differ: the ids of key and token, which are chosen for each. */
const free = new Set(['header.kid', 'claims.jti'])

/** The value with the issuer's name removed. */
const withoutIssuer = (value: JsonValue | undefined, issuer: string): JsonValue | undefined => {
  if (typeof value === 'string')
    return value === issuer || value.startsWith(`${issuer}/`) ? `{issuer}${value.slice(issuer.length)}` : value
  if (Array.isArray(value)) return value.map((item: JsonValue) => withoutIssuer(item, issuer) ?? null)
  return value
}

const show = (value: JsonValue | undefined): string => (value === undefined ? 'absent' : JSON.stringify(value))

/** How two outcomes of one order differ. Pure. */
export const compareOutcomes = (
  token: string,
  left: Outcome,
  right: Outcome,
  issuers: readonly [string, string],
): readonly Difference[] => {
  if (left === notIssued && right === notIssued) return []
  if ('failure' in left || 'failure' in right) {
    const said = (outcome: Outcome): string => ('failure' in outcome ? outcome.failure : 'is issued')
    return [{ token, where: 'issuance', left: said(left), right: said(right), allowed: false }]
  }
  return (['header', 'claims'] as const).flatMap((part) => {
    const [a, b] = [left[part], right[part]]
    const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => !free.has(`${part}.${name}`))
    return names.flatMap((name) => {
      if (isDeepStrictEqual(a[name], b[name])) return []
      const allowed = isDeepStrictEqual(withoutIssuer(a[name], issuers[0]), withoutIssuer(b[name], issuers[1]))
      return [{ token, where: `${part}.${name}`, left: show(a[name]), right: show(b[name]), allowed }]
    })
  })
}
