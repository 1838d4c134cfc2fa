import {
  isObject,
  OAuthError,
  type Actor,
  type GrantRequest,
  type JsonObject,
  type OwnTokens,
} from '../../../core/api/index.js'

const kinds = new Map([
  ['urn:ietf:params:oauth:token-type:access_token', 'access_token'],
  ['urn:ietf:params:oauth:token-type:id_token', 'id_token'],
] as const)

/** The types of tokens that may be presented (RFC 8693 §3). */
export type PresentedType = typeof kinds extends Map<infer Name, unknown> ? Name : never
export const presentedTypes = [...kinds.keys()] as [PresentedType, ...PresentedType[]]

/** The parts of a presented token that an exchange uses. */
export interface PresentedToken {
  readonly kind: 'access_token' | 'id_token'
  readonly claims: JsonObject
  readonly grantId: string
  readonly subject: string
  readonly audience: readonly string[]
  /** The client that it was issued to. */
  readonly clientId: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
  /** The current actor. */
  readonly actor?: Actor
}

export const refuse = (reason: string): never => {
  throw new OAuthError('invalid_request', 'A token of the request is invalid, expired, revoked or not for this use.', {
    reason,
  })
}

const strings = (value: unknown): readonly string[] => {
  const members: readonly unknown[] = Array.isArray(value) ? value : [value]
  return members.filter((member) => typeof member === 'string')
}

/** A subject or client id that the core can issue: 1 to 255 printable ASCII characters. */
const isIdentifier = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x20-\x7E]{1,255}$/.test(value)

/** The longest chain of actors that the core accepts. */
const maxActors = 4

const readActor = (act: unknown, left = maxActors): Actor => {
  if (left === 0) return refuse('too many actors')
  if (!isObject(act)) return refuse('malformed act')
  const { sub, client_id: clientId, act: before } = act
  if (!isIdentifier(sub) || (clientId !== undefined && !isIdentifier(clientId))) return refuse('malformed act')
  return {
    sub,
    ...(clientId !== undefined && { client_id: clientId }),
    ...(before !== undefined && { act: readActor(before, left - 1) }),
  }
}

/**
 * A token bound to a key needs a proof of that key, or the exchange would turn it into a bearer token (RFC 9449 §7).
 * A `cnf` without a known member cannot be proved.
 */
const checkConfirmation = (cnf: unknown, { constraint }: GrantRequest): void => {
  if (cnf === undefined) return
  const presented = new Map(Object.entries(constraint ?? {}))
  const named = isObject(cnf) ? Object.entries(cnf) : []
  if (named.length === 0 || !named.every(([name, value]) => presented.get(name) === value))
    refuse('sender-constrained token without proof')
}

/**
 * Verifies one of our tokens that the client presents: of the stated type, within its lifetime, not revoked, with the
 * proof that it is bound to. Throws `invalid_request`, `Unavailable`.
 */
export const readPresented = async (
  ownTokens: OwnTokens,
  token: string,
  type: PresentedType,
  request: GrantRequest,
): Promise<PresentedToken> => {
  const kind = kinds.get(type) ?? refuse('unknown token type')
  const own = (await ownTokens.verify(token, kind)) ?? refuse('not a valid token of the type that was named')
  const { claims, grantId } = own
  const { sub, exp, act, cnf } = claims
  const audience = strings(claims['aud'])
  const clientId = kind === 'id_token' ? audience[0] : claims['client_id']
  if (!isIdentifier(sub) || !isIdentifier(clientId)) return refuse('claims are missing or malformed')
  checkConfirmation(cnf, request)
  return {
    kind,
    claims,
    grantId,
    subject: sub,
    audience,
    clientId,
    expiresAt: Number(exp),
    ...(act !== undefined && { actor: readActor(act) }),
  }
}
