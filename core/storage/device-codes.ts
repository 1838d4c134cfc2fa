import type { DeviceCode, DevicePoll, Redemption } from './ports.js'

/** What a store keeps of a device code. */
export interface StoredDeviceCode<Request, Approval> {
  readonly userCode: string
  readonly request: Request
  /** The interval at the start. */
  readonly intervalSeconds: number
  /** The interval in seconds while the client polls too early. */
  readonly raisedInterval?: number
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  /** The last poll that was not early, in milliseconds since the epoch. */
  readonly polledAt?: number
  readonly decision?: { readonly approval: Approval } | 'denied'
  /** Set when a poll has seen the approval. */
  readonly answered?: true
  readonly redeemed?: true
}

/** The result for the caller, and what to store. Without `write` nothing changes. */
export interface DeviceCodeStep<Result, Stored> {
  readonly result: Result
  readonly write?: Stored
}

/**
 * Seconds for which a code is remembered after it ended, however short its life; otherwise nobody would learn that it
 * expired.
 */
const leastKeptSeconds = 600

/** How long a store keeps a code that lives for `ttlSeconds`, in seconds from its start. */
export const keptSeconds = (ttlSeconds: number): number => ttlSeconds + Math.max(ttlSeconds, leastKeptSeconds)

const raiseSeconds = 5
/** Timers and networks are inexact, so a poll that is early by this much is accepted. */
const toleranceMs = 1000
/** A client that polled too fast once can continue within a minute of slowing down. */
const maxIntervalSeconds = 60

const stateOf = ({ decision, redeemed, expiresAt }: StoredDeviceCode<unknown, unknown>, now: number) => {
  if (redeemed) return 'redeemed'
  if (decision === 'denied') return 'denied'
  if (now >= expiresAt) return 'expired'
  return decision === undefined ? 'pending' : 'approved'
}

const intervalOf = ({ intervalSeconds, raisedInterval }: StoredDeviceCode<unknown, unknown>): number =>
  raisedInterval ?? intervalSeconds

const withFirstInterval = <R, A>({ raisedInterval: _raised, ...stored }: StoredDeviceCode<R, A>) => stored

/** The record as the port returns it at this time. */
export const viewDeviceCode = <R, A>(stored: StoredDeviceCode<R, A>, now: number): DeviceCode<R, A> => {
  const { userCode, request, decision } = stored
  const approval = typeof decision === 'object' && { approval: decision.approval }
  return { userCode, request, intervalSeconds: intervalOf(stored), state: stateOf(stored, now), ...approval }
}

/** Implements `DeviceCodeStore.poll` for every adapter. The adapter makes it atomic. */
export const nextPoll = <R, A>(
  stored: StoredDeviceCode<R, A>,
  now: number,
): DeviceCodeStep<DevicePoll<R, A>, StoredDeviceCode<R, A>> => {
  const due = (write?: StoredDeviceCode<R, A>) => ({
    result: { outcome: 'due', code: viewDeviceCode(write ?? stored, now) } as const,
    ...(write && { write }),
  })
  const state = stateOf(stored, now)
  if (state === 'denied' || state === 'expired') return due()
  // `slow_down` says that the person has not decided (RFC 8628 §3.5, OpenID CIBA Core §11), so the first poll that
  // sees the approval is never early. Concurrent ones are, or all but one would count as second uses of the code.
  if (state !== 'pending' && stored.answered !== true)
    return due({ ...withFirstInterval(stored), polledAt: now, answered: true })
  const { polledAt } = stored
  const interval = intervalOf(stored)
  const least = interval * 1000 - Math.min(toleranceMs, interval * 500)
  // A timestamp in the future comes from a clock that was set back. A client that kept the pace returns to the
  // initial interval.
  if (polledAt === undefined || polledAt > now || now - polledAt >= least)
    return due({ ...withFirstInterval(stored), polledAt: now })
  const raised = Math.max(interval, Math.min(interval + raiseSeconds, maxIntervalSeconds))
  const slower = { ...stored, raisedInterval: raised }
  const result = { outcome: 'early', code: viewDeviceCode(slower, now) } as const
  return raised === interval ? { result } : { result, write: slower }
}

/** Implements `DeviceCodeStore.decide`. */
export const nextDecision = <R, A>(
  stored: StoredDeviceCode<R, A>,
  decision: { readonly approval: A } | 'denied',
  now: number,
): DeviceCodeStep<Redemption<DeviceCode<R, A>>, StoredDeviceCode<R, A>> => {
  if (stateOf(stored, now) !== 'pending')
    return { result: { outcome: 'replayed', record: viewDeviceCode(stored, now) } }
  const write = { ...stored, decision }
  return { result: { outcome: 'won', record: viewDeviceCode(write, now) }, write }
}

/** Implements `DeviceCodeStore.redeem`. */
export const nextRedemption = <R, A>(
  stored: StoredDeviceCode<R, A>,
  now: number,
): DeviceCodeStep<Redemption<DeviceCode<R, A>>, StoredDeviceCode<R, A>> => {
  const state = stateOf(stored, now)
  if (state === 'redeemed') return { result: { outcome: 'replayed', record: viewDeviceCode(stored, now) } }
  if (state !== 'approved') return { result: { outcome: 'unknown' } }
  const write = { ...stored, redeemed: true } as const
  return { result: { outcome: 'won', record: viewDeviceCode(write, now) }, write }
}
