import type { Counts } from '../observe/counts.js'
import type { Occupancy } from '../storage/ports.js'
import { Unavailable } from '../unavailable.js'
import { addressBucket } from '../address-bucket.js'

/** A place that an address has taken, to be given back. */
export interface Place {
  readonly bucket: string
  /** When it is free by itself: milliseconds since the epoch. */
  readonly until: number
}

/** How many of one thing an address may have open at a time, over all processes. */
export interface Places {
  /**
   * Takes a place for so long. `place` is absent for callers without an address, who are not counted. Throws
   * `Unavailable`.
   */
  enter(
    address: string,
    ttlSeconds: number,
  ): Promise<
    { readonly allowed: true; readonly place?: Place } | { readonly allowed: false; readonly retryAfterSeconds: number }
  >
  /** Gives a place back. During an outage it stays taken until its time is over. */
  leave(place: Place | undefined): Promise<void>
}

export interface PlacesOptions {
  readonly occupancy: Occupancy
  /** Names what is open in the store and in the metrics. */
  readonly limit: string
  readonly most: number
  /** Callers that were refused, by limit. */
  readonly hits: Counts
}

export const createPlaces = ({ occupancy, limit, most, hits }: PlacesOptions): Places => ({
  async enter(address, ttlSeconds) {
    const bucket = addressBucket(address)
    if (bucket === undefined) return { allowed: true }
    const entered = await occupancy.enter(limit, bucket, { most, ttlSeconds })
    if (entered.allowed) return { allowed: true, place: { bucket, until: entered.until } }
    hits.of(limit).value++
    return entered
  },
  async leave(place) {
    if (place === undefined) return
    try {
      await occupancy.leave(limit, place.bucket, place.until)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  },
})
