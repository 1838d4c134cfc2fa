import type { Clock } from '../clock.js'
import { Unavailable } from '../unavailable.js'
import type { CounterStore, StoreRoom } from './ports.js'

/** Bytes that expire at the same time, which is in milliseconds since the epoch. */
type Slice = readonly [end: number, bytes: number]

/** The size of one entry. */
export interface Weight {
  /** Includes its namespace. */
  readonly idBytes: number
  /** As JSON. */
  readonly recordBytes: number
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** What one class of short-lived entries may use of a store. */
export interface Quota {
  readonly name: string
  readonly clock: Clock
  /** Bytes in use, as far as this process knows, and the limit. */
  read(): { readonly bytes: number; readonly limit: number }
  /** What an entry takes that has an id of 43 bytes and a record of so many. */
  footprint(recordBytes: number): number
  /** Resolves, nearly always at once, when the total is known. Throws `Unavailable`. */
  ready(): Promise<void>
  /** Throws `Unavailable` when the class has too little space for the entry. */
  checkRoom(weight: Weight): void
  count(weight: Weight): void
  /** Subtracts what was counted, because it was not written or was removed early. */
  giveBack(weight: Weight): void
  /** Whether this process has counts that the store does not know yet. */
  hasUnsent(): boolean
  /** Sends this process's counts to the store and learns the total. Throws `Unavailable`. */
  sync(): Promise<void>
}

export interface QuotaOptions {
  readonly name: string
  /** The fraction of the store's capacity. */
  readonly part: number
  readonly room: StoreRoom
  readonly states: CounterStore
  readonly clock: Clock
  /** Its name in `Unavailable`. */
  readonly component: string
}

/** The length of a token or its hash. */
const usualIdBytes = 43

/**
 * Milliseconds for which expired entries still occupy a store: Redis keeps them for ten seconds, and collectors run
 * with a delay.
 */
const expiryLagMs = 10_000

/**
 * An entry counts until its slice ends. A slice is at most an eighth of a lifetime, and different lifetimes share
 * slices.
 */
const endOf = (until: number, now: number): number => {
  const length = 1000 * 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, (until - now) / 8000))))
  return Math.ceil((until + expiryLagMs) / length) * length
}

const addTo = (slices: Map<number, number>, end: number, bytes: number): void => {
  const sum = (slices.get(end) ?? 0) + bytes
  if (sum === 0) slices.delete(end)
  else slices.set(end, sum)
}

/**
 * Each process counts its own writes and decides by the last known total plus its own count since, so an entry costs
 * no extra round trips; about once a second it adds its count to the total in the store. The limit can thus be
 * exceeded only by what all processes write within a second.
 */
export const createQuota = ({ name, part, room, states, clock, component }: QuotaOptions): Quota => {
  let known: Map<number, number> | undefined
  let own = new Map<number, number>()
  let sum = 0
  let sumValidUntil = -Infinity
  let syncing: Promise<void> | undefined

  const total = (): number => {
    const now = clock()
    if (now < sumValidUntil) return sum
    sum = 0
    sumValidUntil = Infinity
    for (const [end, bytes] of [...(known ?? []), ...own]) {
      if (end <= now) continue
      sum += bytes
      sumValidUntil = Math.min(sumValidUntil, end)
    }
    return sum
  }

  const limit = (): number => part * room.capacity()

  const add = ({ idBytes, recordBytes, until }: Weight, sign: 1 | -1): void => {
    const now = clock()
    if (until + expiryLagMs <= now) return
    const bytes = sign * Math.ceil(room.footprint(idBytes, recordBytes))
    const end = endOf(until, now)
    addTo(own, end, bytes)
    sum += bytes
    sumValidUntil = Math.min(sumValidUntil, end)
  }

  const exchange = async (): Promise<void> => {
    const sent = own
    own = new Map()
    try {
      const merged = await states.update<readonly Slice[], readonly Slice[]>('share', name, (state = [], now) => {
        const slices = new Map(state.filter(([end]) => end > now))
        for (const [end, bytes] of sent) if (end > now) addTo(slices, end, bytes)
        const result = [...slices]
        if (sent.size === 0) return { result }
        return { result, write: result.length === 0 ? null : { state: result, forgetAt: Math.max(...slices.keys()) } }
      })
      known = new Map(merged)
    } catch (error) {
      // Sent again, at worst twice; a count that is too high ends with its slice.
      for (const [end, bytes] of sent) addTo(own, end, bytes)
      throw error
    } finally {
      sumValidUntil = -Infinity
      syncing = undefined
    }
  }

  const sync = (): Promise<void> => (syncing ??= exchange())

  return {
    name,
    clock,
    read: () => ({ bytes: Math.max(0, total()), limit: limit() }),
    footprint: (recordBytes) => room.footprint(usualIdBytes, recordBytes),
    ready: async () => {
      if (known === undefined) await sync()
    },
    checkRoom: (weight) => {
      if (total() + room.footprint(weight.idBytes, weight.recordBytes) > limit())
        throw new Unavailable(component, 'no', `the share of ${name} is full`)
    },
    count: (weight) => add(weight, 1),
    giveBack: (weight) => add(weight, -1),
    hasUnsent: () => own.size > 0,
    sync,
  }
}
