import type { Clock } from '../../clock.js'
import { newOpaqueToken } from '../../opaque-token.js'
import type { RecordStore, ReplayGuard } from '../../storage/ports.js'

/** A notice for a client. */
export interface Notice {
  readonly clientId: string
  /** The receiving host. Deliveries to one host wait for each other. */
  readonly host: string
}

/** A notice to a client that a session has ended. */
export interface LogoutNotice extends Notice {
  /** The person's local subject. */
  readonly subject: string
  readonly sid: string
}

/** A notice that is to be delivered. */
export type Delivery<N extends Notice> = N & {
  /** `jti` of the logout token. All attempts have the same, so that a client can recognise a repetition. */
  readonly jti: string
  /** The number of failed attempts. */
  readonly failed: number
}
export type LogoutDelivery = Delivery<LogoutNotice>

export interface QueuedDelivery<N extends Notice> {
  readonly id: string
  readonly delivery: Delivery<N>
}

/**
 * Undelivered notices in the records store: they survive every process, and any replica may deliver them. Everything
 * throws `Unavailable`.
 */
export interface Outbox<N extends Notice> {
  /** Durable when it resolves. Due a moment later, because what it reports is written next. */
  add(notices: readonly N[]): Promise<void>
  /** Due notices, longest waiting first, at most `limit`, starting after the id `after`. */
  due(after: string | undefined, limit: number): Promise<readonly QueuedDelivery<N>[]>
  /**
   * True for one caller among all replicas, who makes this attempt. If it has no result after 15 seconds, another
   * caller may.
   */
  claim(queued: QueuedDelivery<N>): Promise<boolean>
  /** Postpones to the next attempt. Returns false, and changes nothing, when this was the last one. */
  postpone(queued: QueuedDelivery<N>): Promise<boolean>
  remove(queued: QueuedDelivery<N>): Promise<void>
  /** Calls `listener` after each `add` of this process, with the milliseconds until the notices are due. */
  onAdded(listener: (milliseconds: number) => void): void
}

export type LogoutOutbox = Outbox<LogoutNotice>

export interface OutboxOptions<N extends Notice> {
  /** Distinguishes its claims from those of others. */
  readonly kind: 'logout_token' | 'ping'
  readonly records: RecordStore<Delivery<N>>
  readonly claims: ReplayGuard
  readonly clock: Clock
}

/** Milliseconds from a notice to the first attempt, by when what it reports is written. */
const settleMs = 250
/** Milliseconds from one attempt to the next: three within a minute. */
const pausesMs = [10_000, 45_000] as const
/** Longer than an attempt takes. */
const leaseSeconds = 15
/** After a day no client waits for a notice. */
const ttlSeconds = 86_400

/** The order of ids is the order in which they are due. */
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
      // The previous holder may have finished after it was listed.
      return (await records.find(id)) !== undefined
    },
    async postpone({ id, delivery }) {
      const pause = pausesMs[delivery.failed]
      if (pause === undefined) return false
      // The new one is written first, because a crash should deliver twice rather than never.
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
