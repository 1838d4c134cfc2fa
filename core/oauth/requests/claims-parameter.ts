import { inheritedNames, isObject, type JsonObject, type JsonValue } from '../../json.js'
import { OAuthError } from '../errors.js'
import type { RequestedClaims } from '../grants/grant.js'

/** The size is limited because anyone can have a parameter stored until a sign-in is over. */
const maxBytes = 4096
const maxClaims = 100
/** Bytes of JSON. They are limited because the access token carries the names requested at `/userinfo`. */
const maxNames = 2048
const maxValues = 20
const maxDepth = 12

const refuse = (reason: string): never => {
  throw new OAuthError('invalid_request', 'The parameter claims is malformed.', { reason })
}

/** The depth is counted before anything is parsed, so a refused text costs one pass over it. */
const isTooDeep = (text: string): boolean => {
  let depth = 0
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[[{\]}]/gs)) {
    if (token === '[' || token === '{') depth++
    else if (token === ']' || token === '}') depth--
    if (depth > maxDepth) return true
  }
  return false
}

const isScalar = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/**
 * Reads `null`, or an object of `essential`, `value` and `values`. Other members are not understood and are dropped
 * (OIDC Core §5.5.1).
 */
const readClaim = (claim: JsonValue | undefined): JsonObject | null => {
  if (claim === null) return null
  if (!isObject(claim)) return refuse('a claim is neither null nor an object')
  const { essential, value, values } = claim
  if (essential !== undefined && typeof essential !== 'boolean') refuse('essential is not a boolean')
  if (values !== undefined && (!Array.isArray(values) || values.length > maxValues || !values.every(isScalar)))
    refuse('values is not a short list of scalars')
  if (value !== undefined && !isScalar(value)) refuse('value is not a scalar')
  return {
    ...(essential !== undefined && { essential }),
    ...(value !== undefined && { value }),
    ...(values !== undefined && { values }),
  }
}

const readMember = (member: JsonValue | undefined): Record<string, JsonObject | null> | undefined => {
  if (member === undefined) return undefined
  if (!isObject(member)) return refuse('id_token or userinfo is not an object')
  const claims = Object.entries(member).filter(([name]) => name !== '' && !inheritedNames.has(name))
  if (claims.length > maxClaims) refuse('too many claims')
  if (Buffer.byteLength(JSON.stringify(claims.map(([name]) => name))) > maxNames) refuse('names too long')
  return Object.fromEntries(claims.map(([name, claim]) => [name, readClaim(claim)]))
}

/**
 * Reads the `claims` parameter (OIDC Core §5.5): at most 4 KiB, and no deeper than claims go. Throws
 * `invalid_request`.
 */
export const parseClaimsParameter = (text: string): RequestedClaims => {
  if (Buffer.byteLength(text) > maxBytes) refuse('too long')
  if (isTooDeep(text)) refuse('nested too deep')
  let parsed: JsonValue
  try {
    parsed = JSON.parse(text) as JsonValue
  } catch {
    return refuse('not JSON')
  }
  if (!isObject(parsed)) return refuse('not an object')
  const idToken = readMember(parsed['id_token'])
  const userinfo = readMember(parsed['userinfo'])
  return { ...(idToken && { id_token: idToken }), ...(userinfo && { userinfo }) }
}

/** Claims about the login and not about the person, which need no consent (OIDC Core §2). */
const loginClaims = new Set(['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'acr', 'amr', 'azp', 'sid'])

/** Returns the names of the personal claims that are requested one by one, in order and each once. */
export const personalClaims = (requested: RequestedClaims | undefined): readonly string[] => {
  const names = [...Object.keys(requested?.id_token ?? {}), ...Object.keys(requested?.userinfo ?? {})]
  return [...new Set(names)].filter((name) => !loginClaims.has(name))
}

/** Removes the personal claims that the client may not have. */
export const filterClaims = (requested: RequestedClaims, isReleasable: (name: string) => boolean): RequestedClaims => {
  const keep = (member: RequestedClaims['id_token']): RequestedClaims['id_token'] =>
    member && Object.fromEntries(Object.entries(member).filter(([name]) => loginClaims.has(name) || isReleasable(name)))
  const [idToken, userinfo] = [keep(requested.id_token), keep(requested.userinfo)]
  return { ...(idToken && { id_token: idToken }), ...(userinfo && { userinfo }) }
}

/**
 * Returns the only subject that the response may be about (OIDC Core §5.5.1). Throws `invalid_request` when the
 * demanded value cannot be a subject.
 */
export const demandedSubject = (requested: RequestedClaims): string | undefined => {
  const value = requested.id_token?.['sub']?.['value'] ?? requested.userinfo?.['sub']?.['value']
  return value === undefined || typeof value === 'string' ? value : refuse('sub is not a string')
}
