import type { Clock } from '../../clock.js'
import type { Began, RevocationStore } from '../../storage/ports.js'
import type { NotifyClients } from '../back-channel/notify-clients.js'
import { hashOpaqueToken } from '../../opaque-token.js'

/** What stands for a subject in ids of revocations. */
export const personOf = (subject: string): string => hashOpaqueToken(subject)

/** Apart from the ids of grants and tokens, which have no colon. Under it: which sign-ins are over, by their `auth_time`. */
const idOf = (subject: string): string => `subject:${personOf(subject)}`
/** Under it: the moment of the last end, for sign-ins that are under way. */
const momentIdOf = (subject: string): string => `subject-end:${personOf(subject)}`

const nextSecond = (milliseconds: number): number => Math.ceil(milliseconds / 1000)

/** When a sign-in began, and of whom it is. */
export interface SignIn extends Began {
  /** From `personOf`. */
  readonly person: string
}

/**
 * The sign-in that a session, grant or token comes from, as `RevocationStore.isRevoked` is asked about it. `authTime` is in
 * seconds since the epoch. Undefined where no person stands behind it.
 */
export const signInOf = (subject: unknown, authTime: unknown): SignIn | undefined => {
  if (typeof subject !== 'string' || typeof authTime !== 'number') return undefined
  const person = personOf(subject)
  return { id: `subject:${person}`, at: authTime * 1000, person }
}

export interface SubjectEndOptions {
  readonly revocations: RevocationStore
  readonly clock: Clock
  /** Seconds for which an end is remembered: until the last thing that a sign-in has opened has run out. */
  readonly lifetimeSeconds: number
  /** Leaves word for clients, before anything ends and once more afterwards. */
  readonly tell: NotifyClients
}

/** Ends all that the sign-ins of a subject have opened until now: sessions, codes, grants, tokens. Clients hear. Throws `Unavailable`. */
export type EndSubject = (subject: string) => Promise<void>

/**
 * `auth_time` counts whole seconds. A sign-in in the second of an earlier end has the next one as its `auth_time`, so an end in
 * that same second reaches past it. The moment is written first: who finds the new end finds the moment, too.
 */
export const createEndSubject =
  ({ revocations, clock, lifetimeSeconds, tell }: SubjectEndOptions): EndSubject =>
  async (subject) => {
    await tell(subject)
    // What began in this very millisecond is over, too.
    const moment = clock() + 1
    const before = await revocations.endedBefore(idOf(subject))
    await revocations.revokeBefore(momentIdOf(subject), moment, lifetimeSeconds)
    const reach = before === undefined ? 0 : nextSecond(before) * 1000 + 1
    await revocations.revokeBefore(idOf(subject), Math.max(moment, reach), lifetimeSeconds)
    // Of what was granted between the two.
    await tell(subject)
  }

/**
 * `auth_time` of a sign-in that `begun` at this time, in milliseconds since the epoch: the second in which it began, or the
 * first one that is not over. Undefined when the subject was ended since: what was right a moment ago, the old password,
 * opens nothing that outlives the change. `authTime`: when the person signed in somewhere else, in seconds; no earlier than
 * the end. Throws `Unavailable`.
 */
export const findAuthTime = async (
  revocations: Pick<RevocationStore, 'endedBefore'>,
  subject: string,
  begun: number,
  authTime?: number,
): Promise<number | undefined> => {
  const ended = (await revocations.endedBefore(idOf(subject))) ?? 0
  const moment = ended === 0 ? 0 : ((await revocations.endedBefore(momentIdOf(subject))) ?? 0)
  if (begun < moment) return undefined
  return Math.max(Math.min(Math.floor(begun / 1000), authTime ?? Infinity), nextSecond(ended))
}

/** Finds the sign-ins of a subject that are over, by their `auth_time`: one question for many. Throws `Unavailable`. */
export const findEnded = async (
  revocations: Pick<RevocationStore, 'endedBefore'>,
  subject: string,
): Promise<(authTime: number) => boolean> => {
  const ended = await revocations.endedBefore(idOf(subject))
  return (authTime) => ended !== undefined && authTime * 1000 < ended
}
