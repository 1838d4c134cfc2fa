import type { DeviceCode, DevicePoll, Redemption } from './ports.js'

/** What a store keeps of a device code. */
export interface StoredDeviceCode<Request, Approval> {
  readonly userCode: string
  readonly request: Request
  readonly intervalSeconds: number
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  /** When it was polled in time: milliseconds since the epoch. */
  readonly polledAt?: number
  readonly decision?: { readonly approval: Approval } | 'denied'
  readonly redeemed?: true
}

/** What follows for the one who asked, and what to store; `write` absent: nothing changes. */
export interface DeviceCodeStep<Result, Stored> {
  readonly result: Result
  readonly write?: Stored
}

const raiseSeconds = 5
/** A device that went wrong once goes on within a minute of coming to its senses. */
const maxIntervalSeconds = 60

const stateOf = ({ decision, redeemed, expiresAt }: StoredDeviceCode<unknown, unknown>, now: number) => {
  if (redeemed) return 'redeemed'
  if (decision === 'denied') return 'denied'
  if (now >= expiresAt) return 'expired'
  return decision === undefined ? 'pending' : 'approved'
}

/** The record as the port tells it at this time. */
export const viewDeviceCode = <R, A>(stored: StoredDeviceCode<R, A>, now: number): DeviceCode<R, A> => {
  const { userCode, request, intervalSeconds, decision } = stored
  const approval = typeof decision === 'object' && { approval: decision.approval }
  return { userCode, request, intervalSeconds, state: stateOf(stored, now), ...approval }
}

/** The rule of `DeviceCodeStore.poll`, the same for every adapter; the adapter makes it atomic. */
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
  const { polledAt, intervalSeconds } = stored
  // A stamp in the future is that of a clock that was set back.
  if (polledAt === undefined || polledAt > now || now - polledAt >= intervalSeconds * 1000)
    return due({ ...stored, polledAt: now })
  const raised = Math.max(intervalSeconds, Math.min(intervalSeconds + raiseSeconds, maxIntervalSeconds))
  const slower = { ...stored, intervalSeconds: raised }
  const result = { outcome: 'early', code: viewDeviceCode(slower, now) } as const
  return raised === intervalSeconds ? { result } : { result, write: slower }
}

/** The rule of `DeviceCodeStore.decide`. */
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

/** The rule of `DeviceCodeStore.redeem`. */
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
