import type { Clock } from '../../clock.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { Began, RevocationStore } from '../../storage/ports.js'
import { grantedAtOf } from './grant-id.js'
import { signInOf } from '../subjects/subject-end.js'

/** What one client may do for a person by one grant, and since when, as ends of access know it. */
export interface Access {
  /** Asked first: of a person who has withdrawn nothing since, this is all that is asked. */
  readonly any: Began
  readonly ofClient: Began
  readonly ofAll: Began
}

/** Apart from the ids of grants, tokens and subjects. */
const idsOf = (subject: string, clientId = '') => ({
  any: `access:${hashOpaqueToken(subject)}`,
  ofClient: `access-of:${hashOpaqueToken(`${subject}\n${clientId}`)}`,
  ofAll: `access-all:${hashOpaqueToken(subject)}`,
})

/**
 * The access of a grant. One that does not say when it was granted is from before this version, and as old as its sign-in:
 * `authTime`, in seconds since the epoch. Undefined where no person stands behind it.
 */
export const accessOf = (
  subject: unknown,
  clientId: string,
  grantId: string,
  authTime: unknown,
): Access | undefined => {
  if (typeof subject !== 'string' || typeof authTime !== 'number') return undefined
  const at = grantedAtOf(grantId) ?? authTime * 1000 - 1
  const { any, ofClient, ofAll } = idsOf(subject, clientId)
  return { any: { id: any, at }, ofClient: { id: ofClient, at }, ofAll: { id: ofAll, at } }
}

type Asked = Pick<RevocationStore, 'isRevoked'>

/** Was the access withdrawn since it was granted? Throws `Unavailable`. */
export const isAccessOver = async (revocations: Asked, access: Access | undefined): Promise<boolean> => {
  if (access === undefined || !(await revocations.isRevoked([], access.any))) return false
  return (await revocations.isRevoked([], access.ofClient)) || revocations.isRevoked([], access.ofAll)
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
 * Was the grant revoked, the access of its client withdrawn, or all that its person's sign-ins had opened ended? `ids`: more that
 * may be revoked. Throws `Unavailable`.
 */
export const isGrantOver = async (
  revocations: Asked,
  { grantId, clientId, subject, authTime }: GrantInQuestion,
  ids: readonly string[] = [],
): Promise<boolean> => {
  const [isRevoked, isOver] = await Promise.all([
    revocations.isRevoked([grantId, ...ids], signInOf(subject, authTime)),
    isAccessOver(revocations, accessOf(subject, clientId, grantId, authTime)),
  ])
  return isRevoked || isOver
}

/** The same of an access token, by what was read of it. Throws `Unavailable`. */
export const isTokenOver = async (
  revocations: Asked,
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
 * Ends what a person has granted a client until now, or all clients, whether any list knows of it or not. Sessions go on, and what is
 * granted from now on is good. Throws `Unavailable`.
 */
export const endAccess = async (
  { revocations, clock, grantLifetime }: AccessEndOptions,
  subject: string,
  clientId: string | undefined,
): Promise<void> => {
  const { any, ofClient, ofAll } = idsOf(subject, clientId)
  const now = clock()
  await revocations.revokeBefore(clientId === undefined ? ofAll : ofClient, now, grantLifetime)
  // Last: who finds it finds what it is about.
  await revocations.revokeBefore(any, now, grantLifetime)
}
