import type { Clock } from '../../clock.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { Began, RevocationStore } from '../../storage/ports.js'
import { grantedAtOf } from './grant-id.js'
import { personOf, signInOf, type SignIn } from '../subjects/subject-end.js'

/** What one client may do for a person under one grant, and since when. */
export interface Access {
  /** Asked first: of a person who has withdrawn nothing since, this is all that is asked. */
  readonly any: Began
  /** From `personOf`. */
  readonly person: string
  readonly subject: string
  readonly clientId: string
}

/** Apart from the ids of grants, tokens and subjects. */
const anyOf = (person: string): string => `access:${person}`
const ofClient = (subject: string, clientId: string): string =>
  `access-of:${hashOpaqueToken(`${subject}\n${clientId}`)}`
const ofAll = (person: string): string => `access-all:${person}`

/**
 * The access of a grant that a person gave in this sign-in. One that does not say when it was granted is from before this version, and
 * as old as its sign-in. Undefined where no person stands behind it.
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

/** Whether the access was withdrawn after it was granted. Throws `Unavailable`. */
export const isAccessOver = async (revocations: RevocationQuery, access: Access | undefined): Promise<boolean> => {
  if (access === undefined || !(await revocations.isRevoked([], access.any))) return false
  const { any, person, subject, clientId } = access
  const began = (id: string): Promise<boolean> => revocations.isRevoked([], { id, at: any.at })
  return (await began(ofClient(subject, clientId))) || began(ofAll(person))
}

/** A grant, as it is asked whether it is over. */
export interface GrantInQuestion {
  readonly grantId: string
  readonly clientId: string
  readonly subject: unknown
  /** Seconds since the epoch; of no use where no person stands behind it. */
  readonly authTime: unknown
}

/**
 * Whether the grant was revoked, its client's access withdrawn, or everything that the person's sign-ins opened
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

/** The same for an access token, from its claims. Throws `Unavailable`. */
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
  /** How long an end must be remembered: until the last token of a grant has expired. */
  readonly grantLifetime: number
}

/**
 * Ends everything that a person has granted a client, or all clients, until now, listed or not. Sessions continue,
 * and later grants are valid. Throws `Unavailable`.
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
  // Last: who finds it finds what it is about.
  await revocations.revokeBefore(anyOf(person), now, grantLifetime)
}
