import type { JsonObject, JsonValue } from '../../json.js'
import { includesDetails, type AuthorizationDetail } from '../requests/authorization-details.js'
import { OAuthError } from '../errors.js'
import { accessTokenType, type Actor, type GrantDecision, type GrantRequest, type Redeemable } from './grant.js'

/** The maximum length of a chain of actors (RFC 8693 §4.1): the current one and those before it. */
export const maxActors = 4
const maxDepth = 16

const fault = (what: string): never => {
  throw new Error(`the decision of a grant plugin cannot be issued: ${what}`)
}

/** Each member is read once. Computed members are refused, because they may return something else the next time. */
const ownValue = (object: object, name: string, fault: () => never): unknown => {
  const descriptor = Object.getOwnPropertyDescriptor(object, name)
  return descriptor !== undefined && 'value' in descriptor ? descriptor.value : fault()
}

/** Reads each own member once. */
const members = (value: unknown, what: string): ReadonlyMap<string, unknown> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fault(`${what} is not an object`)
  const computed = (): never => fault(`${what} computes a member`)
  const found = new Map<string, unknown>()
  for (const name of Object.keys(value)) found.set(name, ownValue(value, name, computed))
  return found
}

const list = (value: unknown, what: string): readonly unknown[] => {
  if (!Array.isArray(value) || value.length > 1000) return fault(`${what} is not a list, or has more than 1,000 items`)
  const hole = (): never => fault(`${what} has a hole`)
  const { length } = value
  const items: unknown[] = []
  for (let index = 0; index < length; index++) items.push(ownValue(value, String(index), hole))
  return items
}

const text = (value: unknown, what: string, form = /^[\x20-\x7E]{1,255}$/): string =>
  typeof value === 'string' && form.test(value) ? value : fault(`${what} is not a valid string`)

const texts = (value: unknown, what: string, form?: RegExp): readonly string[] =>
  list(value, what).map((item) => text(item, what, form))

const flag = (value: unknown, what: string): boolean =>
  typeof value === 'boolean' ? value : fault(`${what} is neither true nor false`)

const seconds = (value: unknown, what: string): number =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : fault(`${what} is not a time in seconds`)

const json = (value: unknown, what: string, depth = 0): JsonValue => {
  if (depth > maxDepth) return fault(`${what} is nested too deep`)
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number')
    return Number.isFinite(value) ? value : fault(`${what} contains a number that is not finite`)
  if (Array.isArray(value)) return list(value, what).map((item) => json(item, what, depth + 1))
  if (typeof value !== 'object') return fault(`${what} contains a value that is not JSON`)
  return jsonObject(value, what, depth)
}

const jsonObject = (value: unknown, what: string, depth = 0): JsonObject => {
  const prototype: unknown = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined
  if (prototype !== null && prototype !== Object.prototype) return fault(`${what} is not a plain object`)
  const given = [...members(value, what)].filter(([, member]) => member !== undefined)
  return Object.fromEntries(given.map(([name, member]) => [name, json(member, what, depth + 1)]))
}

const actor = (value: unknown, what: string, left = maxActors): Actor => {
  if (left === 0) return fault(`${what} has too many actors`)
  const given = members(value, what)
  for (const name of given.keys()) if (!['sub', 'client_id', 'act'].includes(name)) fault(`${what} names ${name}`)
  const client = given.get('client_id')
  const before = given.get('act')
  return {
    sub: text(given.get('sub'), what),
    ...(client !== undefined && { client_id: text(client, what) }),
    ...(before !== undefined && { act: actor(before, what, left - 1) }),
  }
}

const permitted = (value: unknown, what: string) => {
  const given = [...members(value, what)].map(([name, member]) => [name, text(member, what)] as const)
  if (given.length === 0 || !given.every(([name]) => name === 'sub' || name === 'client_id'))
    return fault(`${what} names nobody`)
  return Object.fromEntries(given)
}

/** RFC 7519 §4.1.3 does not allow an empty audience. */
const uri = /^[\x21-\x7E]{1,2000}$/

const authentication = (value: unknown, what: string): JsonObject => {
  const given = jsonObject(value, what)
  seconds(given['auth_time'], `${what}.auth_time`)
  for (const name of ['acr', 'nonce', 'sid'])
    if (given[name] !== undefined && typeof given[name] !== 'string') fault(`${what}.${name} is not a string`)
  if (given['amr'] !== undefined) texts(given['amr'], `${what}.amr`)
  return given
}

type Check = (value: unknown, what: string) => unknown

/** The kinds of redeemables, and the member that names each. */
const redeemables: ReadonlyMap<unknown, string> = new Map([
  ['authorization_code', 'code'],
  ['refresh_token', 'token'],
  ['device_code', 'code'],
  ['auth_req_id', 'code'],
] satisfies [Redeemable['kind'], string][])

/** Every member that a decision may have, and how it is read. */
const checks: { readonly [Name in keyof Required<GrantDecision>]: Check } = {
  subject: text,
  scope: (value, what) => [...new Set(texts(value, what, /^[\x21\x23-\x5B\x5D-\x7E]+$/))],
  audience: (value, what) => [...new Set(texts(value, what, uri))],
  claims: jsonObject,
  authentication,
  requestedClaims: jsonObject,
  authorizationDetails: (value, what) =>
    list(value, what).map((item): AuthorizationDetail => {
      const detail = jsonObject(item, what)
      return { ...detail, type: text(detail['type'], `${what}.type`) }
    }),
  idToken: flag,
  refresh: flag,
  actor,
  mayAct: permitted,
  notAfter: seconds,
  issuedTokenType: (value, what) => (value === accessTokenType ? value : fault(`${what} is unknown`)),
  grant: (value) => value,
  grantId: (value, what) => text(value, what, /^[\w-]{1,128}$/),
  redeem: (value, what) => {
    const given = members(value, what)
    const kind = given.get('kind')
    const name = redeemables.get(kind)
    if (name === undefined) return fault(`${what}.kind is unknown`)
    const secret = given.get(name)
    return typeof secret === 'string' ? { kind, [name]: secret } : fault(`${what}.${name} is not a string`)
  },
}

/** The grant that a decision continues must belong to the client, and limits the decision. */
const checkGrant = (decision: GrantDecision, client: GrantRequest['client']): void => {
  const { grant, redeem, subject, scope, audience = [], authorizationDetails = [] } = decision
  if (grant === undefined) {
    if (redeem !== undefined) fault('something is redeemed, but the grant that it continues is missing')
    return
  }
  if (redeem === undefined) fault('a grant without anything to redeem')
  if (grant.clientId !== client.client_id) fault('the grant of another client')
  if (grant.subject !== subject) fault('the grant of another subject')
  if (!scope.every((name) => grant.scope.includes(name))) fault('more scope than the grant has')
  if (!audience.every((name) => grant.resource.includes(name))) fault('an audience outside of the grant')
  if (!includesDetails(grant.authorizationDetails ?? [], authorizationDetails))
    fault('authorization_details outside of the grant')
}

type RequestedGrant = Pick<GrantRequest, 'client' | 'scope' | 'resource' | 'audience'>

/** The request limits what is granted (RFC 6749 §3.3, RFC 8707 §2.2). */
const narrow = ({ scope, grant, audience = grant?.resource }: GrantDecision, requested: RequestedGrant) => {
  const given = requested.scope.length > 0 ? scope.filter((name) => requested.scope.includes(name)) : scope
  if (requested.resource.length === 0) return { scope: given, ...(audience && { audience }) }
  const targets =
    audience?.filter((name) => requested.resource.includes(name) || requested.audience.includes(name)) ?? []
  if (targets.length > 0) return { scope: given, audience: targets }
  throw new OAuthError('invalid_target', 'The resource is not part of what is granted.')
}

/**
 * Copies a decision as it is at this moment. A member that is missing, of another type, computed or unknown is a bug
 * of the plugin, and nothing is issued for it. Throws `Error`, and `invalid_target` when none of the requested
 * resources is granted.
 */
export const checkDecision = (decided: unknown, request: RequestedGrant): GrantDecision => {
  const given = members(decided, 'the decision')
  if (!given.has('subject') || !given.has('scope')) fault('it has no subject or no scope')
  const read: Record<string, unknown> = {}
  for (const [name, value] of given) {
    if (!Object.hasOwn(checks, name)) fault(`it has the unknown member ${name}`)
    if (value !== undefined) read[name] = checks[name as keyof GrantDecision](value, name)
  }
  const decision = read as unknown as GrantDecision
  checkGrant(decision, request.client)
  return { ...decision, ...narrow(decision, request) }
}
