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
import type { Quota, Weight } from './quotas.js'

// Collections whose entries count towards the quota of their class. A full quota refuses new entries, and nothing
// else.

const weigh = (share: Quota, id: string, record: string, ttlSeconds: number): Weight => ({
  idBytes: Buffer.byteLength(id),
  recordBytes: Buffer.byteLength(record),
  until: share.clock() + ttlSeconds * 1000,
})

/** Counts entries, writes them, and subtracts them again when nothing was written. */
const hold = async <R>(
  share: Quota,
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

export const shareOneTime = <T>(share: Quota, store: OneTimeStore<T>): OneTimeStore<T> => ({
  put: (id, record, ttlSeconds) =>
    hold(share, [weigh(share, id, JSON.stringify(record), ttlSeconds)], () => store.put(id, record, ttlSeconds)),
  find: (id) => store.find(id),
  findUnused: (id) => store.findUnused(id),
  redeem: (id) => store.redeem(id),
})

export const shareReplays = (share: Quota, guard: EphemeralReplayGuard): EphemeralReplayGuard => ({
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
 * Entries kept for ever are not counted. `expiryOf` is for records that may be removed early: when they would have
 * expired, in milliseconds since the epoch.
 */
export const countedLookup = <T>(
  share: Quota,
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

/** Counts the effect of an atomic change on an entry. An existing one may change even when the quota is full. */
const countChange = async <R>(
  share: Quota,
  change: (note: (before: Weight | undefined, after: Weight | undefined) => void) => Promise<R>,
): Promise<R> => {
  await share.ready()
  let counted: { readonly before: Weight | undefined; readonly after: Weight | undefined } | undefined
  const result = await change((before, after) => (counted = { before, after }))
  if (counted?.before) share.giveBack(counted.before)
  if (counted?.after) share.count(counted.after)
  return result
}

/** Like `shareLookup`, with listing and updates. */
export const countedRecords = <T>(
  share: Quota,
  store: RecordStore<T>,
  expiryOf?: (record: T) => number | undefined,
): RecordStore<T> => ({
  ...countedLookup(share, store, expiryOf),
  list: (after, limit) => store.list(after, limit),
  update: (id, decide) =>
    countChange(share, (note) =>
      store.update(id, (current, expiresAt) => {
        const step = decide(current, expiresAt)
        const { write } = step
        const weighRecord = (record: T, until: number | undefined): Weight | undefined =>
          until === undefined ? undefined : { ...weigh(share, id, JSON.stringify(record), 0), until }
        const after = write ? weighRecord(write.record, write.expiresAt) : undefined
        const before = current === undefined ? undefined : weighRecord(current, expiresAt)
        if (after !== undefined && current === undefined) share.checkRoom(after)
        note(write === undefined ? undefined : before, after)
        return step
      }),
    ),
})

export const shareDeviceCodes = <Request, Approval>(
  share: Quota,
  codes: DeviceCodeStore<Request, Approval>,
): DeviceCodeStore<Request, Approval> => ({
  start: (id, record, ttlSeconds) => {
    // It is remembered for twice its life, and takes two entries.
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

export const shareCounters = (share: Quota, counters: CounterStore): CounterStore => ({
  update: <State, Result>(namespace: string, id: string, decide: CounterDecision<State, Result>): Promise<Result> =>
    countChange(share, (note) =>
      counters.update<State, Result>(namespace, id, (current, now, forgetAt) => {
        const step = decide(current, now, forgetAt)
        const { write } = step
        const weighState = (state: State, until: number): Weight => ({
          ...weigh(share, namespace + id, JSON.stringify(state), 0),
          until,
        })
        const after = write ? weighState(write.state, write.forgetAt) : undefined
        const before = current === undefined || forgetAt === undefined ? undefined : weighState(current, forgetAt)
        if (after !== undefined && current === undefined) share.checkRoom(after)
        note(write === undefined ? undefined : before, after)
        return step
      }),
    ),
})
