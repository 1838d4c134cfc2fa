import type { JsonObject, JsonValue } from '../json.js'

/** A place where a claim of a person can appear. */
export type ClaimPlace = 'id_token' | 'userinfo' | 'access_token'

/**
 * How a claim is taken from an account, and where it appears in addition to what scopes release. The names are those
 * of the configuration.
 */
export interface ClaimRule {
  /** The account claim that holds the value. By default it is the claim of the same name. */
  readonly from?: string | undefined
  /** A fixed value for everyone, which is used even where there is no account. */
  readonly value?: JsonValue | undefined
  /**
   * The values that are kept of a text or a list of texts. An entry that ends in `*` matches every value with that
   * prefix.
   */
  readonly only?: readonly string[] | undefined
  readonly in: readonly ClaimPlace[]
  /** The clients (by id) and resource servers (by identifier) that get the claim. By default all of them do. */
  readonly for?: readonly string[] | undefined
}

/** The recipient of a token or an answer. */
export interface Recipient {
  readonly clientId: string
  readonly scope: readonly string[]
  /** The audience of an access token. */
  readonly audience?: readonly string[]
}

/** A claim in a token for several resource servers reaches each of them, so the rule must name them all. */
export const isFor = ({ for: named }: ClaimRule, { clientId, audience = [] }: Recipient): boolean =>
  named === undefined ||
  named.includes(clientId) ||
  (audience.length > 0 && audience.every((resource) => named.includes(resource)))

const isList = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value)

const fits = (value: JsonValue | undefined, patterns: readonly string[]): boolean =>
  typeof value === 'string' &&
  patterns.some((pattern) => (pattern.endsWith('*') ? value.startsWith(pattern.slice(0, -1)) : value === pattern))

/** Returns what an account has for the claim `name`, by its rule if there is one. */
export const valueOf = (name: string, rule: ClaimRule | undefined, account: JsonObject): JsonValue | undefined => {
  if (rule?.value !== undefined) return rule.value
  const from = rule?.from ?? name
  const value = Object.hasOwn(account, from) ? account[from] : undefined
  const only = rule?.only
  if (only === undefined) return value
  if (isList(value)) return value.filter((member) => fits(member, only))
  return fits(value, only) ? value : undefined
}
