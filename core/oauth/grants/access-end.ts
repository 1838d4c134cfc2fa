import type { Clock } from '../../clock.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { Began, RevocationStore } from '../../storage/ports.js'
import { grantedAtOf } from './grant-id.js'
import { personOf, signInOf, type SignIn } from '../subjects/subject-end.js'

/** The access of one client for a person under one grant, and when it began. */
export interface Access {
  /** This is checked first. If the person has withdrawn nothing since, nothing else is checked. */
  readonly any: Began
  /** The value of `personOf`. */
  readonly person: string
  readonly subject: string
  readonly clientId: string
}

/** These ids differ from the ids of grants, tokens and subjects. */
const anyOf = (person: string): string => `access:${person}`
const ofClient = (subject: string, clientId: string): string =>
  `access-of:${hashOpaqueToken(`${subject}\n${clientId}`)}`
const ofAll = (person: string): string => `access-all:${person}`

/**
 * Returns the access of a grant that a person gave in this sign-in. A grant that does not say when it was granted
 * comes from an earlier version and counts as being as old as its sign-in. Returns undefined when no person is
 * involved.
 */
export const accessOf = (
  signIn: SignIn | undefined,
  subject: unknown,
  clientId: string,
  grantId: string,
): Access | undefined => {
  if (signIn === undefined || typeof subject !== 'string') return undefined
  const { person, at } = signIn
  return { any: { id: anyOf(person), at: grantedAtOf(grantId) ?? at - 1 }, person, subject, clientId }
}

type RevocationQuery = Pick<RevocationStore, 'isRevoked'>

/** Tells whether the access was withdrawn after it was granted. Throws `Unavailable`. */
export const isAccessOver = async (revocations: RevocationQuery, access: Access | undefined): Promise<boolean> => {
  if (access === undefined || !(await revocations.isRevoked([], access.any))) return false
  const { any, person, subject, clientId } = access
  const began = (id: string): Promise<boolean> => revocations.isRevoked([], { id, at: any.at })
  return (await began(ofClient(subject, clientId))) || began(ofAll(person))
}

/** The facts of a grant that tell whether it is over. */
export interface GrantInQuestion {
  readonly grantId: string
  readonly clientId: string
  readonly subject: unknown
  /** Seconds since the epoch; it is ignored when no person is involved. */
  readonly authTime: unknown
}

/**
 * Tells whether the grant was revoked, its client's access withdrawn, or everything that the person's sign-ins opened
 * ended. `ids`: further ids that may be revoked. Throws `Unavailable`.
 */
export const isGrantOver = async (
  revocations: RevocationQuery,
  { grantId, clientId, subject, authTime }: GrantInQuestion,
  ids: readonly string[] = [],
): Promise<boolean> => {
  const signIn = signInOf(subject, authTime)
  const [isRevoked, isOver] = await Promise.all([
    revocations.isRevoked([grantId, ...ids], signIn),
    isAccessOver(revocations, accessOf(signIn, subject, clientId, grantId)),
  ])
  return isRevoked || isOver
}

/** Does the same for an access token, from its claims. Throws `Unavailable`. */
export const isTokenOver = async (
  revocations: RevocationQuery,
  {
    jti,
    grantId,
    signIn,
    access,
  }: {
    readonly jti: string
    readonly grantId: string
    readonly signIn: Began | undefined
    readonly access: Access | undefined
  },
): Promise<boolean> => {
  const [isRevoked, isOver] = await Promise.all([
    revocations.isRevoked([jti, grantId], signIn),
    isAccessOver(revocations, access),
  ])
  return isRevoked || isOver
}

export interface AccessEndOptions {
  readonly revocations: RevocationStore
  readonly clock: Clock
  /** How long an end must be remembered, in seconds: until the last token of a grant has expired. */
  readonly grantLifetime: number
}

/**
 * Ends everything that a person has granted to a client, or to all clients, until now, listed or not. Sessions
 * continue, and later grants are valid. Throws `Unavailable`.
 */
export const endAccess = async (
  { revocations, clock, grantLifetime }: AccessEndOptions,
  subject: string,
  clientId: string | undefined,
): Promise<void> => {
  const person = personOf(subject)
  const now = clock()
  const what = clientId === undefined ? ofAll(person) : ofClient(subject, clientId)
  await revocations.revokeBefore(what, now, grantLifetime)
  // This is written last, so a reader that finds it also finds the entries that it refers to.
  await revocations.revokeBefore(anyOf(person), now, grantLifetime)
}
