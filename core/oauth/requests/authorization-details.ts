import { isDeepStrictEqual } from 'node:util'
import { inheritedNames, isObject, type JsonObject, type JsonValue } from '../../json.js'
import { isPlainText } from '../../plain-text.js'
import { askPlugin } from '../grants/ask-plugin.js'
import type { Client } from '../clients/client.js'
import { OAuthError } from '../errors.js'

/** One thing that a client asks for or was granted (RFC 9396 §2). The other members are those of its type. */
export interface AuthorizationDetail extends JsonObject {
  readonly type: string
}

/** A text for people, by language tag (RFC 5646). */
type Texts = Readonly<Record<string, string>>

/** A detail in words. Each `text` is the client's, and untrusted. */
export interface DescribedDetail {
  readonly title: Texts
  readonly lines: readonly { readonly label: Texts; readonly text: string }[]
}

type Eventual<T> = T | Promise<T>

/** One type of `authorization_details`, of the configuration or of a plugin. All throw `Unavailable`. */
export interface AuthorizationDetailsType {
  readonly type: string
  /** What is wrong with a detail, in words that contain nothing of it; undefined when it is right (RFC 9396 §5). */
  check(detail: AuthorizationDetail, client: Client, signal: AbortSignal): Eventual<string | undefined>
  /** What the person reads. It must leave out nothing that matters. */
  describe(detail: AuthorizationDetail, signal: AbortSignal): Eventual<DescribedDetail>
  /**
   * May a client that was granted `granted` have `asked`, because it is less (RFC 9396 §6)? Absent: only what is equal. What
   * is asked for passes `check` as well.
   */
  narrows?(asked: AuthorizationDetail, granted: AuthorizationDetail): boolean
}

/** By `type`. */
export type AuthorizationDetailsTypes = ReadonlyMap<string, AuthorizationDetailsType>

/** Anyone may have a parameter stored, until a sign-in is over; what is granted travels in each access token. */
const maxBytes = 4096
const maxDetails = 10
const maxDepth = 12

const refuse = (reason: string): never => {
  throw new OAuthError('invalid_authorization_details', 'The authorization_details are malformed or not available.', {
    reason,
  })
}

const isSound = (value: JsonValue | undefined, depth = 0): boolean => {
  // Nobody could tell from the page what is approved: what looks the same must be the same.
  if (typeof value === 'string') return value === '' || isPlainText(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth > maxDepth) return false
  return Object.entries(value).every(
    ([name, member]) => !inheritedNames.has(name) && isPlainText(name) && isSound(member as JsonValue, depth + 1),
  )
}

const isDetail = (value: JsonValue): value is AuthorizationDetail =>
  isObject(value) && typeof value['type'] === 'string'

/** Reads the parameter, whatever the types are. Throws `invalid_authorization_details`. */
export const parseAuthorizationDetails = (text: string): readonly AuthorizationDetail[] => {
  if (Buffer.byteLength(text) > maxBytes) return refuse('authorization_details: too long')
  let parsed: JsonValue
  try {
    parsed = JSON.parse(text) as JsonValue
  } catch {
    return refuse('authorization_details: not JSON')
  }
  if (!Array.isArray(parsed) || parsed.length === 0 || parsed.length > maxDetails)
    return refuse('authorization_details: not a list of 1 to 10 details')
  if (!isSound(parsed)) return refuse('authorization_details: nested too deep, or with characters that nobody can read')
  const details: readonly JsonValue[] = parsed
  return details.every(isDetail) ? details : refuse('authorization_details: a detail is no object with a type')
}

/** Whom details are asked of, and of what. */
export interface DetailsRules {
  readonly client: Client
  readonly types: AuthorizationDetailsTypes
  readonly defaultAudience: string
  readonly signal: AbortSignal
}

const checkDetail = async (detail: AuthorizationDetail, rules: DetailsRules): Promise<void> => {
  const { client, types, defaultAudience, signal } = rules
  const type = types.get(detail.type)
  if (type === undefined) return refuse('authorization_details: unknown type')
  if (!mayAskFor(client, detail)) return refuse('authorization_details: the client may not ask for this type')
  const locations = locationsOf(detail)
  if (locations?.every((one) => one === defaultAudience || client.allowed_audiences.includes(one)) === false)
    return refuse('authorization_details: a location that the client may not ask tokens for')
  const fault = await askPlugin('a type of authorization_details', signal, async () =>
    type.check(detail, client, signal),
  )
  if (fault !== undefined) refuse(`authorization_details: ${type.type}: ${fault}`)
}

/**
 * The details that a client asks for, each of a type that it may ask for. Throws `invalid_authorization_details`, and what
 * `check` of a type throws.
 */
export const checkAuthorizationDetails = async (
  text: string,
  rules: DetailsRules,
): Promise<readonly AuthorizationDetail[]> => {
  const details = parseAuthorizationDetails(text)
  for (const detail of details) await checkDetail(detail, rules)
  return details
}

/** The resource servers that a detail is for (RFC 9396 §2.2); undefined: it does not say. Throws. */
const locationsOf = ({ locations }: AuthorizationDetail): readonly string[] | undefined => {
  if (locations === undefined) return undefined
  const list: readonly unknown[] = Array.isArray(locations) ? locations : []
  const names = list.filter((one) => typeof one === 'string')
  return names.length > 0 && names.length === list.length
    ? names
    : refuse('authorization_details: locations are not a list of text')
}

const mayAskFor = (client: Client, { type }: AuthorizationDetail): boolean =>
  client.authorization_details_types?.includes(type) === true

/** Are all of `some` among `all`? */
export const includesDetails = (all: readonly AuthorizationDetail[], some: readonly AuthorizationDetail[]): boolean =>
  some.every((detail) => all.some((other) => isDeepStrictEqual(other, detail)))

const isLess = (asked: AuthorizationDetail, granted: AuthorizationDetail, { types }: DetailsRules): boolean =>
  asked.type === granted.type && types.get(asked.type)?.narrows?.(asked, granted) === true

/**
 * Checks that each of `asked` is equal to one of `granted` or less of it (RFC 9396 §6), and returns `asked`. Throws
 * `invalid_authorization_details`, and what `check` of a type throws.
 */
const checkNarrower = async (
  asked: readonly AuthorizationDetail[],
  granted: readonly AuthorizationDetail[],
  rules: DetailsRules,
): Promise<readonly AuthorizationDetail[]> => {
  // Two payments are more than one: each that was granted covers one that is asked for.
  const pool = [...granted]
  for (const detail of asked) {
    const equal = pool.findIndex((one) => isDeepStrictEqual(one, detail))
    const index = equal === -1 ? pool.findIndex((one) => isLess(detail, one, rules)) : equal
    if (index === -1) return refuse('authorization_details: more than was granted')
    pool.splice(index, 1)
    if (equal === -1) await checkDetail(detail, rules)
  }
  return asked
}

/**
 * The details that a person allows, each equal to one that was asked for or less of it. Throws `invalid_authorization_details`,
 * and what `check` of a type throws.
 */
export const narrowDetails = async (
  allowed: readonly AuthorizationDetail[],
  asked: readonly AuthorizationDetail[],
  rules: DetailsRules,
): Promise<readonly AuthorizationDetail[]> =>
  allowed.length === 0 ? [] : checkNarrower(parseAuthorizationDetails(JSON.stringify(allowed)), asked, rules)

/**
 * Of what was granted, what a token for `audience` is to have: what the client asks for at `/token`, equal to what was granted
 * or less of it (RFC 9396 §6), else all; without what names other `locations` (RFC 9396 §2.2). Undefined: none. Throws
 * `invalid_authorization_details`, and what `check` of a type throws.
 */
export const narrowAuthorizationDetails = async (
  text: string | undefined,
  granted: readonly AuthorizationDetail[],
  audience: readonly string[],
  rules: DetailsRules,
): Promise<readonly AuthorizationDetail[] | undefined> => {
  const left = granted.filter((detail) => mayAskFor(rules.client, detail))
  const asked = await checkNarrower(text === undefined ? left : parseAuthorizationDetails(text), left, rules)
  const given = asked.filter((detail) => locationsOf(detail)?.some((one) => audience.includes(one)) !== false)
  return given.length === 0 ? undefined : given
}
