import { setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Clock } from '../../clock.js'
import type { Log } from '../../observe/log.js'
import { Unavailable } from '../../unavailable.js'
import { createFailingHosts } from './failing-hosts.js'
import { createLanes } from './lanes.js'
import type { Delivery, Notice, Outbox, QueuedDelivery } from './outbox.js'

/** `failed`: another attempt may help. `moot`: none will. */
export type SendResult =
  { readonly outcome: 'delivered' } | { readonly outcome: 'failed' | 'moot'; readonly reason: string }

export interface SenderOptions<N extends Notice> {
  readonly outbox: Outbox<N>
  /** The log message while nothing can be delivered for a reason of our own. */
  readonly complaint: string
  /** Makes one attempt. Throws when our side prevented it, and then it does not count. */
  readonly send: (delivery: Delivery<N>) => Promise<SendResult>
  /** Called for a delivery that is given up, before it is removed. */
  readonly abandoned: (delivery: Delivery<N>, reason: string) => Promise<void>
  readonly clock: Clock
  readonly log: Log
}

export interface Sender {
  /** Checks the outbox after so many milliseconds. */
  wake(milliseconds: number): void
  close(): Promise<void>
}

/** Notices added by another replica or a command are found within this time. */
const lookMs = 1000
/** Minimum pause between two checks, however much there is to do. */
const pauseMs = 100
const pageSize = 100
/** Records read in one check, so that a backlog for one host costs the process little. */
const mostLookedAt = 1000
const limits = { atWork: 4, waiting: 16, inAll: 128, forFailing: 32 }
/** Milliseconds from one delivery to the next: forty a second leave the process to its requests. */
const turnMs = 25
/** Deliveries that need not wait for their turn after an idle period. */
const atOnce = 16

/**
 * Returns what waits for the turn of an attempt. All hosts share the turns in the order in which they ask, and each
 * asks for only a few at once.
 */
const createTurns = (signal: AbortSignal) => {
  let last = -Infinity
  return async (): Promise<void> => {
    const now = performance.now()
    last = Math.max(last, now - atOnce * turnMs) + turnMs
    if (last > now) await setTimeout(last - now, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

/**
 * Returns what runs work whose internal faults end there, because the delivery is still in the outbox. Readiness
 * reports outages, so one report is enough.
 */
const createGuard = (log: Log, complaint: string) => {
  let failing = false
  return async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
      failing = false
    } catch (error) {
      if (!failing) log.error(complaint, {}, error instanceof Unavailable ? undefined : error)
      failing = true
    }
  }
}

/**
 * Delivers the outbox beside the other work of the process: a few at a time for each host, and one attempt at a time
 * for each delivery, over all replicas. Failing hosts share a quarter of the capacity, one delivery each.
 */
export const startSender = <N extends Notice>(options: SenderOptions<N>): Sender => {
  const { outbox, send, abandoned, clock, log } = options
  const hosts = createFailingHosts(clock)
  let isLeft = false
  let cursor: string | undefined
  let closed = false
  let looking: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let nextLook = Infinity
  const closing = new AbortController()
  setMaxListeners(limits.inAll, closing.signal)
  const turn = createTurns(closing.signal)
  const guarded = createGuard(log, options.complaint)

  const lanes = createLanes(limits, hosts.isFailing, () => {
    if (isLeft) wake(pauseMs)
  })

  const attempt = async (delivery: Delivery<N>): Promise<SendResult> => {
    const { host } = delivery
    if (hosts.isCoolingDown(host)) return { outcome: 'failed', reason: 'the host has failed just now' }
    const result = await send(delivery)
    if (result.outcome !== 'moot') hosts.record(host, result.outcome === 'delivered')
    return result
  }

  const deliver = async (queued: QueuedDelivery<N>): Promise<void> => {
    await turn()
    if (closed || !(await outbox.claim(queued))) return
    const result = await attempt(queued.delivery)
    if (result.outcome === 'failed' && (await outbox.postpone(queued))) return
    if (result.outcome !== 'delivered') await abandoned(queued.delivery, result.reason)
    await outbox.remove(queued)
  }

  const offer = (queued: QueuedDelivery<N>): boolean =>
    lanes.offer(queued.delivery.host, queued.id, () => guarded(() => deliver(queued)))

  const look = async (): Promise<void> => {
    isLeft = cursor !== undefined
    for (let seen = 0; seen < mostLookedAt && !closed; seen += pageSize) {
      const page = await outbox.due(cursor, pageSize)
      for (const queued of page) if (!offer(queued)) isLeft = true
      cursor = page.length < pageSize ? undefined : page.at(-1)?.id
      if (cursor === undefined) return
    }
    isLeft = true
  }

  const run = (): void => {
    nextLook = Infinity
    looking ??= guarded(look).finally(() => {
      looking = undefined
      wake(lookMs)
    })
  }

  const wake = (milliseconds: number): void => {
    const at = performance.now() + milliseconds
    if (closed || at >= nextLook) return
    clearTimeout(timer)
    nextLook = at
    timer = globalThis.setTimeout(run, milliseconds).unref()
  }

  wake(0)
  return {
    wake,
    async close() {
      closed = true
      clearTimeout(timer)
      closing.abort()
      await looking
      await lanes.close()
    },
  }
}
