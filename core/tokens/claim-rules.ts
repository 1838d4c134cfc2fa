import type { JsonObject, JsonValue } from '../json.js'

/** Where a claim of a person can be. */
export type ClaimPlace = 'id_token' | 'userinfo' | 'access_token'

/** How a claim comes from an account, and where it is beyond what scopes release. The names are those of the configuration. */
export interface ClaimRule {
  /** The claim of the account that has the value. Absent: the one of the same name. */
  readonly from?: string | undefined
  /** The value for everyone, also where there is no account. */
  readonly value?: JsonValue | undefined
  /** What is kept of a text, or of a list of texts: the values named here, and those that begin with what precedes a `*`. */
  readonly only?: readonly string[] | undefined
  readonly in: readonly ClaimPlace[]
  /** Clients by id, resource servers by identifier. Absent: all. */
  readonly for?: readonly string[] | undefined
}

/** Whom a token or an answer is for. */
export interface Recipient {
  readonly clientId: string
  readonly scope: readonly string[]
  /** Of an access token. */
  readonly audience?: readonly string[]
}

/** A claim for several resource servers reaches each of them, so all must be named. */
export const isFor = ({ for: named }: ClaimRule, { clientId, audience = [] }: Recipient): boolean =>
  named === undefined ||
  named.includes(clientId) ||
  (audience.length > 0 && audience.every((resource) => named.includes(resource)))

const isList = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value)

const fits = (value: JsonValue | undefined, patterns: readonly string[]): boolean =>
  typeof value === 'string' &&
  patterns.some((pattern) => (pattern.endsWith('*') ? value.startsWith(pattern.slice(0, -1)) : value === pattern))

/** What an account has for the claim `name`, by its rule if there is one. */
export const valueOf = (name: string, rule: ClaimRule | undefined, account: JsonObject): JsonValue | undefined => {
  if (rule?.value !== undefined) return rule.value
  const from = rule?.from ?? name
  const value = Object.hasOwn(account, from) ? account[from] : undefined
  const only = rule?.only
  if (only === undefined) return value
  if (isList(value)) return value.filter((member) => fits(member, only))
  return fits(value, only) ? value : undefined
}
