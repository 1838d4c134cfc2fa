import { isDeepStrictEqual } from 'node:util'
import { inheritedNames, isObject, type JsonObject, type JsonValue } from '../json.js'
import type { Client } from './client.js'
import { OAuthError } from './errors.js'

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

/** What is known of one type of `authorization_details`. */
export interface AuthorizationDetailsType {
  readonly type: string
  /** What is wrong with a detail, in words that contain nothing of it; undefined when it is right (RFC 9396 §5). */
  findFault(detail: AuthorizationDetail): string | undefined
  describe(detail: AuthorizationDetail): DescribedDetail
}

/** By `type`. */
export type AuthorizationDetailsTypes = ReadonlyMap<string, AuthorizationDetailsType>

/** Anyone may have a parameter stored, until a sign-in is over; what is granted travels in each access token. */
const maxBytes = 4096
const maxDetails = 10
const maxDepth = 12

/** Nobody could tell from the page what is approved: controls, halves of characters, and what turns the direction of text. */
const unreadable = /[\p{Cc}\p{Cs}\u200E\u200F\u202A-\u202E\u2066-\u2069]/u

const refuse = (reason: string): never => {
  throw new OAuthError('invalid_authorization_details', 'The authorization_details are malformed or not available.', {
    reason,
  })
}

const isSound = (value: JsonValue | undefined, depth = 0): boolean => {
  if (typeof value === 'string') return !unreadable.test(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth > maxDepth) return false
  return Object.entries(value).every(
    ([name, member]) => !inheritedNames.has(name) && !unreadable.test(name) && isSound(member as JsonValue, depth + 1),
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

/** The details that a client asks for, each of a type that it may ask for. Throws `invalid_authorization_details`. */
export const checkAuthorizationDetails = (
  text: string,
  client: Client,
  types: AuthorizationDetailsTypes,
): readonly AuthorizationDetail[] => {
  const details = parseAuthorizationDetails(text)
  for (const detail of details) {
    const type = types.get(detail.type)
    if (type === undefined) return refuse('authorization_details: unknown type')
    if (!mayAskFor(client, detail)) return refuse('authorization_details: the client may not ask for this type')
    const fault = type.findFault(detail)
    if (fault !== undefined) refuse(`authorization_details: ${type.type}: ${fault}`)
  }
  return details
}

const mayAskFor = (client: Client, { type }: AuthorizationDetail): boolean =>
  client.authorization_details_types?.includes(type) === true

/** Are all of `some` among `all`? */
export const includesDetails = (all: readonly AuthorizationDetail[], some: readonly AuthorizationDetail[]): boolean =>
  some.every((detail) => all.some((other) => isDeepStrictEqual(other, detail)))

/**
 * Of what was granted, what the client asks for at `/token`: all of it, or some details and each as it was granted
 * (RFC 9396 §6). Undefined: none. Throws `invalid_authorization_details`.
 */
export const narrowAuthorizationDetails = (
  text: string | undefined,
  granted: readonly AuthorizationDetail[] | undefined,
  client: Client,
): readonly AuthorizationDetail[] | undefined => {
  if (text === undefined && granted === undefined) return undefined
  const left = (granted ?? []).filter((detail) => mayAskFor(client, detail))
  if (text === undefined) return left.length === 0 ? undefined : left
  const asked = parseAuthorizationDetails(text)
  if (!includesDetails(left, asked)) return refuse('authorization_details: more than was granted')
  return left.filter((detail) => includesDetails(asked, [detail]))
}
