import type { Counts } from '../observe/counts.js'
import type { ConcurrencyLimits } from '../storage/ports.js'
import { Unavailable } from '../unavailable.js'
import { addressBucket } from '../address-bucket.js'

/** A place that an address has taken, to be given back. */
export interface Slot {
  readonly bucket: string
  /** When it is free by itself: milliseconds since the epoch. */
  readonly until: number
  /** That its entry takes of the store. Absent: of an earlier version, which counted none. */
  readonly bytes?: number
}

/** How many of one thing an address may have open at a time, over all processes, and how much of the store these may take. */
export interface Slots {
  /**
   * Takes a place for so long, for a record that has so many bytes as JSON (`sizeOf`). `place` is absent for callers without an address, who are not counted. Throws
   * `Unavailable`.
   */
  enter(
    address: string,
    ttlSeconds: number,
    recordBytes: number,
  ): Promise<
    { readonly allowed: true; readonly place?: Slot } | { readonly allowed: false; readonly retryAfterSeconds: number }
  >
  /** Gives a place back. During an outage it stays taken until its time is over. */
  leave(place: Slot | undefined): Promise<void>
}

/** The room of one class of entries, in bytes of its store. */
export interface SlotSpace {
  /** What an entry takes whose record has so many bytes as JSON. */
  footprint(recordBytes: number): number
  /** What all of them may take together. */
  limit(): number
}

/** Of the room of a class, one address has a tenth. */
const partOfAddress = 0.1

export interface SlotsOptions {
  readonly occupancy: ConcurrencyLimits
  /** Names what is open in the store and in the metrics. */
  readonly limit: string
  readonly most: number
  readonly room: SlotSpace
  /** Callers that were refused, by limit. */
  readonly hits: Counts
}

/** Bytes of a record as JSON. */
export const sizeOf = (record: unknown): number => Buffer.byteLength(JSON.stringify(record))

export const createSlots = ({ occupancy, limit, most, room, hits }: SlotsOptions): Slots => ({
  async enter(address, ttlSeconds, recordBytes) {
    const bucket = addressBucket(address)
    if (bucket === undefined) return { allowed: true }
    const bytes = Math.ceil(room.footprint(recordBytes))
    const mostBytes = Math.floor(room.limit() * partOfAddress)
    const entered = await occupancy.enter(limit, bucket, { most, bytes, mostBytes, ttlSeconds })
    if (entered.allowed) return { allowed: true, place: { bucket, until: entered.until, bytes } }
    hits.of(limit).value++
    return entered
  },
  async leave(place) {
    if (place === undefined) return
    try {
      await occupancy.leave(limit, place.bucket, place.until, place.bytes ?? 0)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  },
})
