import { createHash } from 'node:crypto'
import type { JsonObject, JsonValue, SignInAttempt } from '../../../core/api/index.js'
import { isNumericDate } from '../../../core/api/internal.js'
import type { UpstreamOptions } from './options.js'

/** The person who signed in at the provider, in our terms. */
export interface Person {
  readonly subject: string
  /** The provider's identifier of the person. */
  readonly upstreamSub: string
  readonly amr: readonly string[]
  readonly acr?: string
  readonly authTime?: number
  readonly claims: JsonObject
  readonly username?: string
}

/** OIDC Core §2: at most 255 ASCII characters. */
const isSubject = (value: unknown): value is string => typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value)

/** Unique across providers and our own accounts, and it does not reveal who the person is at the provider. */
export const hashedSubject = (iss: string, sub: string): string =>
  createHash('sha256')
    .update(JSON.stringify([iss, sub]))
    .digest('base64url')

const texts = (value: JsonValue | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string' && one.length <= 64) : []

/** The provider's values that are mapped to ours. A name from outside is only compared. */
const ours = (map: Readonly<Record<string, string>>, theirs: readonly string[]): readonly string[] =>
  Object.entries(map).flatMap(([our, their]) => (theirs.includes(their) ? [our] : []))

/** The provider's values for ours, in order of preference. */
export const theirsOf = (map: Readonly<Record<string, string>>, wanted: readonly string[]): readonly string[] =>
  wanted.flatMap((our) => (Object.hasOwn(map, our) ? [map[our] ?? []].flat() : []))

const own = (claims: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(claims, name) ? claims[name] : undefined

/** Reads the provider's claims, or returns why they are refused, in constant words. */
export const readPerson = (options: UpstreamOptions, claims: JsonObject): Person | string => {
  const { iss, sub, acr, amr, auth_time } = claims
  if (typeof iss !== 'string') return 'the ID token has no iss'
  if (typeof sub !== 'string' || sub === '' || sub.length > 255) return 'the sub of the provider is not a subject'
  const subject = options.subject === undefined ? hashedSubject(iss, sub) : own(claims, options.subject)
  if (!isSubject(subject)) return 'the claim that is mapped to the subject is missing, or not a subject'
  const mapped = Object.entries(options.claims).flatMap(([our, their]) => {
    const value = own(claims, their)
    return value === undefined ? [] : [[our, value] as const]
  })
  const [ourAcr] = typeof acr === 'string' ? ours(options.acr, [acr]) : []
  const known = Object.fromEntries(mapped)
  const { preferred_username: username } = known
  return {
    subject,
    upstreamSub: sub,
    amr: options.amr === undefined ? texts(amr) : ours(options.amr, texts(amr)),
    ...(ourAcr !== undefined && { acr: ourAcr }),
    ...(isNumericDate(auth_time) && { authTime: Math.floor(auth_time) }),
    ...(typeof username === 'string' && username !== '' && username.length <= 256 && { username }),
    claims: known,
  }
}

/** Why the sign-in at the provider is too old for the client's request (OIDC Core §3.1.2.1), or undefined. */
export const findAgeFault = (
  { request, kept }: Pick<SignInAttempt, 'request' | 'kept'>,
  { authTime }: Pick<Person, 'authTime'>,
  toleranceSeconds: number,
): string | undefined => {
  const begun = kept?.['begun']
  if (request.prompt?.split(' ').includes('login') !== true || authTime === undefined || typeof begun !== 'number')
    return undefined
  return authTime < begun - toleranceSeconds ? 'the provider did not ask the person to sign in again' : undefined
}
