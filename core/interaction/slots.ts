import type { Counts } from '../observe/counts.js'
import type { ConcurrencyLimits } from '../storage/ports.js'
import { Unavailable } from '../unavailable.js'
import { addressBucket } from '../address-bucket.js'

/** A slot that an address has taken and that must be released. */
export interface Slot {
  readonly bucket: string
  /** When it is released automatically, in milliseconds since the epoch. */
  readonly until: number
  /** The bytes of the store that its entry takes. Absent when an earlier version took the slot, which counted none. */
  readonly bytes?: number
}

/**
 * Limits how many of one thing an address may have open at a time, over all processes, and how much of the store
 * these may take.
 */
export interface Slots {
  /**
   * Takes a slot for this long, for a record that has this many bytes as JSON (`sizeOf`). `place` is absent for
   * callers without an address, which are not counted. Throws `Unavailable`.
   */
  enter(
    address: string,
    ttlSeconds: number,
    recordBytes: number,
  ): Promise<
    { readonly allowed: true; readonly place?: Slot } | { readonly allowed: false; readonly retryAfterSeconds: number }
  >
  /** Releases a slot. During an outage it stays taken until it expires. */
  leave(place: Slot | undefined): Promise<void>
}

/** The space of one class of entries, in bytes of its store. */
export interface SlotSpace {
  /** Returns the space taken by an entry whose record has this many bytes as JSON. */
  footprint(recordBytes: number): number
  /** Returns the space that all of them may take together. */
  limit(): number
}

/** One address may take a tenth of the space of a class. */
const partOfAddress = 0.1

export interface SlotsOptions {
  readonly concurrencyLimits: ConcurrencyLimits
  /** Names what is limited, in the store and in the metrics. */
  readonly limit: string
  readonly most: number
  readonly space: SlotSpace
  /** Counts refused callers by limit. */
  readonly hits: Counts
}

/** Returns the size of a record as JSON, in bytes. */
export const sizeOf = (record: unknown): number => Buffer.byteLength(JSON.stringify(record))

export const createSlots = ({ concurrencyLimits, limit, most, space, hits }: SlotsOptions): Slots => ({
  async enter(address, ttlSeconds, recordBytes) {
    const bucket = addressBucket(address)
    if (bucket === undefined) return { allowed: true }
    const bytes = Math.ceil(space.footprint(recordBytes))
    const mostBytes = Math.floor(space.limit() * partOfAddress)
    const entered = await concurrencyLimits.enter(limit, bucket, { most, bytes, mostBytes, ttlSeconds })
    if (entered.allowed) return { allowed: true, place: { bucket, until: entered.until, bytes } }
    hits.of(limit).value++
    return entered
  },
  async leave(place) {
    if (place === undefined) return
    try {
      await concurrencyLimits.leave(limit, place.bucket, place.until, place.bytes ?? 0)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  },
})
