import type { Collection, Db } from 'mongodb'
import { Unavailable, within, type Clock } from '../../core/api/storage.js'
import type { StoredDocument } from './document.js'
import { failureOf, type Access } from './failure.js'

/** Milliseconds for one answer (docs/design/faults.md#rule-2), whatever the driver waits for. */
export const answerMs = 800

/** The only path to the server: every call has a deadline, and every failure is `Unavailable`. */
export interface Gateway {
  readonly component: string
  readonly db: Db
  readonly now: Clock
  collection<D extends StoredDocument>(name: string): Collection<D>
  /** `limitMs` is for work outside a request. A duplicate `_id` is thrown as the driver's error. */
  call<R>(access: Access, work: () => Promise<R>, limitMs?: number): Promise<R>
  /** Refuses new calls and waits for those in progress. */
  close(): Promise<void>
}

export interface GatewayOptions {
  readonly db: Db
  readonly clock: Clock
  readonly component: string
  /** Milliseconds for one answer. */
  readonly deadlineMs: number
}

export const createGateway = ({ db, clock, component, deadlineMs }: GatewayOptions): Gateway => {
  const { client } = db
  const inFlight = new Set<Promise<unknown>>()
  let closed = false
  let connecting: Promise<unknown> | undefined

  /** The driver gives up for good when its first attempt fails, unless it is told to connect again. */
  const connect = (): Promise<unknown> =>
    (connecting ??= client.connect().catch((error: unknown) => {
      connecting = undefined
      throw error
    }))

  const inTime = async <R>(access: Access, work: () => Promise<R>, limitMs: number): Promise<R> => {
    const progress = { isSent: false }
    const late = () => {
      const applied = access === 'write' && progress.isSent ? 'unknown' : 'no'
      return new Unavailable(component, applied, `no answer within ${limitMs} ms`)
    }
    const connectAndWork = async () => {
      await connect()
      progress.isSent = true
      return work()
    }
    try {
      return await within(limitMs, connectAndWork(), late)
    } catch (error) {
      throw failureOf(component, progress.isSent ? access : 'read', error, client.options)
    }
  }

  return {
    component,
    db,
    now: clock,
    collection: (name) => db.collection(name),
    call: async (access, work, limitMs = deadlineMs) => {
      if (closed) throw new Unavailable(component, 'no', 'the store is closed')
      const call = inTime(access, work, limitMs)
      inFlight.add(call)
      try {
        return await call
      } finally {
        inFlight.delete(call)
      }
    },
    close: async () => {
      closed = true
      await Promise.allSettled(inFlight)
    },
  }
}
