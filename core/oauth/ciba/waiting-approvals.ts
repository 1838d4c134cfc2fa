import type { Clock } from '../../clock.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { RecordStore } from '../../storage/ports.js'

/** One request that a person has to decide about. */
export interface WaitingApproval {
  readonly approvalId: string
  readonly clientId: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/** All of one person. */
export interface PersonsApprovals {
  readonly waiting: readonly WaitingApproval[]
}

/** What waits for each person, at most so much. Every member throws `Unavailable`. */
export interface WaitingApprovals {
  /**
   * Records a request, unless its client or all clients together have the maximum waiting. One atomic step. Returns
   * the seconds to wait, or 0.
   */
  enter(subject: string, approval: WaitingApproval): Promise<number>
  leave(subject: string, approvalId: string): Promise<void>
  /** The oldest first. */
  list(subject: string): Promise<readonly WaitingApproval[]>
}

/** One client cannot fill a person's attention, and leaves space for others. */
const maxOfClient = 3
const maxOfPerson = 20

export const createWaitingApprovals = (store: RecordStore<PersonsApprovals>, clock: Clock): WaitingApprovals => {
  const open = (record: PersonsApprovals | undefined, now: number): readonly WaitingApproval[] =>
    record?.waiting.filter(({ expiresAt }) => expiresAt > now) ?? []

  const written = (waiting: readonly WaitingApproval[]) =>
    waiting.length === 0
      ? null
      : { record: { waiting }, expiresAt: Math.max(...waiting.map(({ expiresAt }) => expiresAt)) }

  return {
    enter: (subject, approval) =>
      store.update<number>(hashOpaqueToken(subject), (current) => {
        const now = clock()
        const waiting = open(current, now)
        const ofClient = waiting.filter(({ clientId }) => clientId === approval.clientId)
        const full = ofClient.length >= maxOfClient ? ofClient : waiting.length >= maxOfPerson ? waiting : undefined
        if (full === undefined) return { result: 0, write: written([...waiting, approval]) }
        return { result: (Math.min(...full.map(({ expiresAt }) => expiresAt)) - now) / 1000 }
      }),
    leave: (subject, approvalId) =>
      store.update(hashOpaqueToken(subject), (current) => {
        const left = open(current, clock()).filter((one) => one.approvalId !== approvalId)
        return current === undefined ? { result: undefined } : { result: undefined, write: written(left) }
      }),
    list: async (subject) => open(await store.find(hashOpaqueToken(subject)), clock()),
  }
}
