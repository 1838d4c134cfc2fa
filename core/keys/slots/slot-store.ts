import type { RecordStore } from '../../storage/ports.js'
import { newSlotRecord, withoutLease, type ReplicaReport, type SlotRecord } from './slot.js'

/** Milliseconds for which a lease holds: longer than a token takes to make an RSA key. */
export const leaseMs = 120_000

/** The lease has passed to another process, which continues the work. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/** A lease that this process holds. */
export interface Lease {
  readonly holder: string
  readonly fence: number
}

/** Reads the record of every slot that ever had one. Throws `Unavailable`. */
export const readSlots = async (store: RecordStore<SlotRecord>): Promise<ReadonlyMap<string, SlotRecord>> => {
  const found = new Map<string, SlotRecord>()
  for (let after: string | undefined; ;) {
    const page = await store.list(after, 100)
    for (const { id, record } of page) found.set(id, record)
    after = page.at(-1)?.id
    if (after === undefined || page.length < 100) return found
  }
}

/** Reads the report of every replica that has not been forgotten. Throws `Unavailable`. */
export const readReports = async (store: RecordStore<ReplicaReport>): Promise<readonly ReplicaReport[]> => {
  const found: ReplicaReport[] = []
  for (let after: string | undefined; ;) {
    const page = await store.list(after, 100)
    found.push(...page.map(({ record }) => record))
    after = page.at(-1)?.id
    if (after === undefined || page.length < 100) return found
  }
}

/** Takes the lease of a slot, unless another process has it. Throws `Unavailable`. */
export const takeLease = (
  store: RecordStore<SlotRecord>,
  slot: string,
  holder: string,
  now: number,
): Promise<{ readonly lease: Lease; readonly record: SlotRecord } | undefined> =>
  store.update(slot, (current = newSlotRecord(slot, now)) => {
    const held = current.lease
    // A lease from a clock far ahead would otherwise last for as long.
    const isFree = held === undefined || held.until <= now || held.until > now + 2 * leaseMs || held.holder === holder
    if (!isFree) return { result: undefined }
    const fence = current.fence + 1
    const record: SlotRecord = { ...current, fence, lease: { holder, until: now + leaseMs } }
    return { result: { lease: { holder, fence }, record }, write: { record } }
  })

/**
 * Changes the record of a slot as the holder of its lease, which lasts anew from `now`. Throws `LeaseLost` when it
 * has passed on, and `Unavailable`.
 */
export const writeStep = async (
  store: RecordStore<SlotRecord>,
  slot: string,
  { holder, fence }: Lease,
  now: number,
  change: (record: SlotRecord) => SlotRecord,
): Promise<SlotRecord> => {
  const written = await store.update(slot, (current) => {
    if (current === undefined || current.fence !== fence || current.lease?.holder !== holder)
      return { result: undefined }
    const record = { ...change(current), lease: { holder, until: now + leaseMs }, changed_at: now }
    return { result: record, write: { record } }
  })
  if (written === undefined) throw new LeaseLost(`the lease of the slot ${slot} has passed to another process`)
  return written
}

/** Gives the lease back, if it is still held. Throws `Unavailable`. */
export const releaseLease = (store: RecordStore<SlotRecord>, slot: string, { holder, fence }: Lease): Promise<void> =>
  store.update(slot, (current) => {
    if (current?.fence !== fence || current.lease?.holder !== holder) return { result: undefined }
    return { result: undefined, write: { record: withoutLease(current) } }
  })
