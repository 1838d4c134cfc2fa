import { isDeepStrictEqual } from 'node:util'
import { inheritedNames, isObject, type JsonObject, type JsonValue } from '../../json.js'
import { isPlainText } from '../../plain-text.js'
import { askPlugin } from '../grants/ask-plugin.js'
import type { Client } from '../clients/client.js'
import { OAuthError } from '../errors.js'

/** One permission that a client requests or was granted (RFC 9396 §2). The other members depend on its type. */
export interface AuthorizationDetail extends JsonObject {
  readonly type: string
}

/** A text for people in several languages, by language tag (RFC 5646). */
type Texts = Readonly<Record<string, string>>

/** A detail described for people. Each `text` comes from the client and is untrusted. */
export interface DescribedDetail {
  readonly title: Texts
  readonly lines: readonly { readonly label: Texts; readonly text: string }[]
}

type Eventual<T> = T | Promise<T>

/** One type of `authorization_details`, from the configuration or a plugin. All methods throw `Unavailable`. */
export interface AuthorizationDetailsType {
  readonly type: string
  /**
   * Explains what is wrong with a detail, in words that contain nothing of it; undefined when it is valid (RFC 9396
   * §5).
   */
  check(detail: AuthorizationDetail, client: Client, signal: AbortSignal): Eventual<string | undefined>
  /** Returns the text for the person. It must leave out nothing that matters. */
  describe(detail: AuthorizationDetail, signal: AbortSignal): Eventual<DescribedDetail>
  /**
   * Tells whether a client that was granted `granted` may have `asked`, because it is less (RFC 9396 §6). Absent:
   * only an equal detail is allowed. `asked` must pass `check` as well.
   */
  narrows?(asked: AuthorizationDetail, granted: AuthorizationDetail): boolean
}

/** The types by `type`. */
export type AuthorizationDetailsTypes = ReadonlyMap<string, AuthorizationDetailsType>

/**
 * The size is limited because anyone can have a parameter stored until a sign-in is over, and each access token
 * carries what is granted.
 */
const maxBytes = 4096
const maxDetails = 10
const maxDepth = 12

const refuse = (reason: string): never => {
  throw new OAuthError('invalid_authorization_details', 'The authorization_details are malformed or not available.', {
    reason,
  })
}

const isSound = (value: JsonValue | undefined, depth = 0): boolean => {
  // People can only judge what the page shows, so texts that look the same must be the same.
  if (typeof value === 'string') return value === '' || isPlainText(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth > maxDepth) return false
  return Object.entries(value).every(
    ([name, member]) => !inheritedNames.has(name) && isPlainText(name) && isSound(member as JsonValue, depth + 1),
  )
}

const isDetail = (value: JsonValue): value is AuthorizationDetail =>
  isObject(value) && typeof value['type'] === 'string'

/** Parses the parameter, without regard to its types. Throws `invalid_authorization_details`. */
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

/** The client that requests details, and the types that exist. */
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
 * Checks the details that a client requests, each of a type that it may request. Throws
 * `invalid_authorization_details`, and what `check` of a type throws.
 */
export const checkAuthorizationDetails = async (
  text: string,
  rules: DetailsRules,
): Promise<readonly AuthorizationDetail[]> => {
  const details = parseAuthorizationDetails(text)
  for (const detail of details) await checkDetail(detail, rules)
  return details
}

/**
 * Returns the resource servers that a detail is for (RFC 9396 §2.2); undefined when it names none. Throws when
 * `locations` is malformed.
 */
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

/** Tells whether all of `some` are among `all`. */
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
  // Two payments are more than one, so each granted detail covers only one requested detail.
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
 * Returns the details that a person allows, each equal to a requested one or less. Throws
 * `invalid_authorization_details`, and what `check` of a type throws.
 */
export const narrowDetails = async (
  allowed: readonly AuthorizationDetail[],
  asked: readonly AuthorizationDetail[],
  rules: DetailsRules,
): Promise<readonly AuthorizationDetail[]> =>
  allowed.length === 0 ? [] : checkNarrower(parseAuthorizationDetails(JSON.stringify(allowed)), asked, rules)

/**
 * Returns the granted details for a token for `audience`. They are those that the client requests at `/token`, each
 * equal to a granted one or less (RFC 9396 §6), or else all, without those that name other `locations` (RFC 9396
 * §2.2). Undefined: none. Throws `invalid_authorization_details`, and what `check` of a type throws.
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
