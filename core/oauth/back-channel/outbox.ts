import type { Clock } from '../../clock.js'
import { newOpaqueToken } from '../../opaque-token.js'
import type { RecordStore, ReplayGuard } from '../../storage/ports.js'

/** That a client has to hear of something. */
export interface Notice {
  readonly clientId: string
  /** The host that it is to be sent to: deliveries to one host wait for each other. */
  readonly host: string
}

/** That a client has to hear of the end of a session. */
export interface LogoutNotice extends Notice {
  /** The person, as our stores know it. */
  readonly subject: string
  readonly sid: string
}

/** A notice that is to be delivered. */
export type Delivery<N extends Notice> = N & {
  /** That of a logout token. Every attempt has the same, so that a client can tell that it has heard already. */
  readonly jti: string
  /** Attempts that have failed. */
  readonly failed: number
}
export type LogoutDelivery = Delivery<LogoutNotice>

export interface QueuedDelivery<N extends Notice> {
  readonly id: string
  readonly delivery: Delivery<N>
}

/**
 * The notices that are still to be delivered, in the store of records: what was added survives every process, and any
 * replica may deliver it. Everything throws `Unavailable`.
 */
export interface Outbox<N extends Notice> {
  /** Durable when it resolves. Due a moment later: what it reports is written next. */
  add(notices: readonly N[]): Promise<void>
  /** What is due, the longest waiting first, at most `limit`, from after the id `after`. */
  due(after: string | undefined, limit: number): Promise<readonly QueuedDelivery<N>[]>
  /**
   * True for one caller of all replicas, who makes this attempt. When nothing has become of it after a quarter of a minute,
   * another caller may.
   */
  claim(queued: QueuedDelivery<N>): Promise<boolean>
  /** Puts the next attempt off. False, and nothing changes, when this was the last one. */
  postpone(queued: QueuedDelivery<N>): Promise<boolean>
  remove(queued: QueuedDelivery<N>): Promise<void>
  /** Calls `listener` after each `add` of this process, with the milliseconds until what was added is due. */
  onAdded(listener: (milliseconds: number) => void): void
}

export type LogoutOutbox = Outbox<LogoutNotice>

export interface OutboxOptions<N extends Notice> {
  /** What its claims are told apart by from those of others. */
  readonly kind: 'logout_token' | 'ping'
  readonly records: RecordStore<Delivery<N>>
  readonly claims: ReplayGuard
  readonly clock: Clock
}

/** Milliseconds from the notice to the first attempt: what it reports is written by then. */
const settleMs = 250
/** Milliseconds from one attempt to the next: three within a minute. */
const pausesMs = [10_000, 45_000] as const
/** More than an attempt takes. */
const leaseSeconds = 15
/** What nobody has delivered within a day, no client waits for. */
const ttlSeconds = 86_400

/** In the order of ids those that are due first come first. */
const newId = (dueAt: number, jti: string): string => `${String(dueAt).padStart(15, '0')}.${jti}`
const dueAtOf = (id: string): number => Number(id.slice(0, 15))

export const createOutbox = <N extends Notice>({ kind, records, claims, clock }: OutboxOptions<N>): Outbox<N> => {
  let added: ((milliseconds: number) => void) | undefined
  const put = (delivery: Delivery<N>, dueAt: number) =>
    records.put(newId(dueAt, delivery.jti), delivery, { ttlSeconds })
  return {
    async add(notices) {
      const dueAt = clock() + settleMs
      await Promise.all(notices.map((notice) => put({ ...notice, jti: newOpaqueToken(), failed: 0 }, dueAt)))
      if (notices.length > 0) added?.(settleMs)
    },
    async due(after, limit) {
      const now = clock()
      const page = await records.list(after, limit)
      return page.filter(({ id }) => dueAtOf(id) <= now).map(({ id, record }) => ({ id, delivery: record }))
    },
    async claim({ id, delivery: { jti, failed } }) {
      if (!(await claims.claim(kind, `${jti}.${String(failed)}`, leaseSeconds))) return false
      // Whoever had it before may have finished since it was listed.
      return (await records.find(id)) !== undefined
    },
    async postpone({ id, delivery }) {
      const pause = pausesMs[delivery.failed]
      if (pause === undefined) return false
      // First the new one: a crash between the two delivers twice rather than never.
      await put({ ...delivery, failed: delivery.failed + 1 }, clock() + pause)
      await records.remove(id)
      return true
    },
    async remove({ id }) {
      await records.remove(id)
    },
    onAdded(listener) {
      added = listener
    },
  }
}
