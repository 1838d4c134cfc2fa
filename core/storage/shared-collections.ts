import { Unavailable } from '../unavailable.js'
import type {
  CounterDecision,
  CounterStore,
  DeviceCodeStore,
  EphemeralReplayGuard,
  OneTimeStore,
  RecordLookup,
  RecordStore,
} from './ports.js'
import type { Share, Weight } from './shares.js'

// Collections of which each entry counts in the share of its class. A share that is full refuses new entries, and nothing else.

const weigh = (share: Share, id: string, record: string, ttlSeconds: number): Weight => ({
  idBytes: Buffer.byteLength(id),
  recordBytes: Buffer.byteLength(record),
  until: share.clock() + ttlSeconds * 1000,
})

/** Counts entries, writes them, and takes them off again when nothing was written. */
const hold = async <R>(
  share: Share,
  weights: readonly Weight[],
  write: () => Promise<R>,
  isWritten: (result: R) => boolean = () => true,
): Promise<R> => {
  await share.ready()
  for (const weight of weights) share.checkRoom(weight)
  for (const weight of weights) share.count(weight)
  const giveBack = () => weights.forEach((weight) => share.giveBack(weight))
  try {
    const result = await write()
    if (!isWritten(result)) giveBack()
    return result
  } catch (error) {
    if (!(error instanceof Unavailable && error.applied === 'unknown')) giveBack()
    throw error
  }
}

export const shareOneTime = <T>(share: Share, store: OneTimeStore<T>): OneTimeStore<T> => ({
  put: (id, record, ttlSeconds) =>
    hold(share, [weigh(share, id, JSON.stringify(record), ttlSeconds)], () => store.put(id, record, ttlSeconds)),
  find: (id) => store.find(id),
  findUnused: (id) => store.findUnused(id),
  redeem: (id) => store.redeem(id),
})

export const shareReplays = (share: Share, guard: EphemeralReplayGuard): EphemeralReplayGuard => ({
  claim: (namespace, id, ttlSeconds, earliest) =>
    hold(
      share,
      [weigh(share, namespace + id, '', ttlSeconds)],
      () => guard.claim(namespace, id, ttlSeconds, earliest),
      (won) => won,
    ),
  ...(guard.since && { since: () => guard.since?.() ?? 0 }),
})

/**
 * What is kept for ever is not counted. `expiryOf` is for records that may be removed before their time: when they would have
 * expired, in milliseconds since the epoch.
 */
export const shareLookup = <T>(
  share: Share,
  store: RecordLookup<T>,
  expiryOf?: (record: T) => number | undefined,
): RecordLookup<T> => ({
  find: (id) => store.find(id),
  put: (id, record, options) => {
    const write = () => store.put(id, record, options)
    if (options?.ttlSeconds === undefined) return write()
    return hold(share, [weigh(share, id, JSON.stringify(record), options.ttlSeconds)], write, (written) => written)
  },
  remove: async (id) => {
    const record = expiryOf && (await store.find(id))
    const removed = await store.remove(id)
    const until = removed && record !== undefined ? expiryOf?.(record) : undefined
    if (until !== undefined) share.giveBack({ ...weigh(share, id, JSON.stringify(record), 0), until })
    return removed
  },
})

/** As `shareLookup`, and listed. */
export const shareRecords = <T>(share: Share, store: RecordStore<T>): RecordStore<T> => ({
  ...shareLookup(share, store),
  list: (after, limit) => store.list(after, limit),
})

export const shareDeviceCodes = <Request, Approval>(
  share: Share,
  codes: DeviceCodeStore<Request, Approval>,
): DeviceCodeStore<Request, Approval> => ({
  start: (id, record, ttlSeconds) => {
    // It is remembered for as long again as it lives, and there are two entries of it.
    const kept = 2 * ttlSeconds
    const weights = [weigh(share, id, JSON.stringify(record), kept), weigh(share, record.userCode, id, kept)]
    return hold(
      share,
      weights,
      () => codes.start(id, record, ttlSeconds),
      (started) => started,
    )
  },
  find: (id) => codes.find(id),
  findByUserCode: (userCode) => codes.findByUserCode(userCode),
  poll: (id) => codes.poll(id),
  decide: (userCode, decision) => codes.decide(userCode, decision),
  redeem: (id) => codes.redeem(id),
})

/** A state that is there already may change also when the share is full. */
export const shareCounters = (share: Share, counters: CounterStore): CounterStore => ({
  async update<State, Result>(namespace: string, id: string, decide: CounterDecision<State, Result>): Promise<Result> {
    await share.ready()
    const weighState = (state: State, until: number): Weight => ({
      ...weigh(share, namespace + id, JSON.stringify(state), 0),
      until,
    })
    let before: Weight | undefined
    let after: Weight | undefined
    const result = await counters.update<State, Result>(namespace, id, (current, now, forgetAt) => {
      const step = decide(current, now, forgetAt)
      const { write } = step
      before =
        write === undefined || current === undefined || forgetAt === undefined
          ? undefined
          : weighState(current, forgetAt)
      after = write ? weighState(write.state, write.forgetAt) : undefined
      if (after !== undefined && current === undefined) share.checkRoom(after)
      return step
    })
    if (before) share.giveBack(before)
    if (after) share.count(after)
    return result
  },
})
