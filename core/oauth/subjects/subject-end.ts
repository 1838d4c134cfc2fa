import type { Clock } from '../../clock.js'
import type { Began, RevocationStore } from '../../storage/ports.js'
import type { NotifyClients } from '../back-channel/notify-clients.js'
import { hashOpaqueToken } from '../../opaque-token.js'

/** Returns the name of a subject in the ids of revocations. */
export const personOf = (subject: string): string => hashOpaqueToken(subject)

/**
 * The id that records which sign-ins are over, by their `auth_time`. It has a colon, unlike the ids of grants and
 * tokens.
 */
const idOf = (subject: string): string => `subject:${personOf(subject)}`
/** The id that records the moment of the last end, for sign-ins in progress. */
const momentIdOf = (subject: string): string => `subject-end:${personOf(subject)}`

const nextSecond = (milliseconds: number): number => Math.ceil(milliseconds / 1000)

/** The start of a sign-in, and its person. */
export interface SignIn extends Began {
  /** The value of `personOf`. */
  readonly person: string
}

/**
 * Returns the sign-in that a session, grant or token comes from, for `RevocationStore.isRevoked`. `authTime` is in
 * seconds since the epoch. Undefined when no person is involved.
 */
export const signInOf = (subject: unknown, authTime: unknown): SignIn | undefined => {
  if (typeof subject !== 'string' || typeof authTime !== 'number') return undefined
  const person = personOf(subject)
  return { id: `subject:${person}`, at: authTime * 1000, person }
}

export interface SubjectEndOptions {
  readonly revocations: RevocationStore
  readonly clock: Clock
  /** Seconds for which an end is remembered: until the last thing that a sign-in has opened has expired. */
  readonly lifetimeSeconds: number
  /** Notifies clients, before anything ends and once more afterwards. */
  readonly notifyClients: NotifyClients
}

/**
 * Ends everything that the sign-ins of a subject have opened until now: sessions, codes, grants, tokens. Clients are
 * notified. Throws `Unavailable`.
 */
export type EndSubject = (subject: string) => Promise<void>

/**
 * `auth_time` counts whole seconds. A sign-in in the second of an earlier end has the next one as its `auth_time`, so
 * an end in that same second reaches past it. The moment is written first, so a reader that finds the new end finds
 * the moment as well.
 */
export const createEndSubject =
  ({ revocations, clock, lifetimeSeconds, notifyClients }: SubjectEndOptions): EndSubject =>
  async (subject) => {
    await notifyClients(subject)
    // A sign-in that began in this very millisecond is over, too.
    const moment = clock() + 1
    const before = await revocations.endedBefore(idOf(subject))
    await revocations.revokeBefore(momentIdOf(subject), moment, lifetimeSeconds)
    const afterNextSecond = before === undefined ? 0 : nextSecond(before) * 1000 + 1
    await revocations.revokeBefore(idOf(subject), Math.max(moment, afterNextSecond), lifetimeSeconds)
    // This covers grants that were made between the two steps.
    await notifyClients(subject)
  }

/**
 * Returns the `auth_time` of a sign-in that `begun` at this time, in milliseconds since the epoch: the second in
 * which it began, or the first one that is not over. Undefined when the subject was ended since then, so that an old
 * password that was right a moment ago opens nothing that outlives its change. `authTime`: when the person signed in
 * elsewhere, in seconds; the result is never before the end. Throws `Unavailable`.
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

/**
 * Finds which sign-ins of a subject are over, by their `auth_time`, with one read for all of them. Throws
 * `Unavailable`.
 */
export const findEnded = async (
  revocations: Pick<RevocationStore, 'endedBefore'>,
  subject: string,
): Promise<(authTime: number) => boolean> => {
  const ended = await revocations.endedBefore(idOf(subject))
  return (authTime) => ended !== undefined && authTime * 1000 < ended
}
