import { epochSeconds, type Clock } from '../../clock.js'
import type { RecordStore } from '../../storage/ports.js'
import { addBits, createBitmap, readBits, type Bitmap } from './bits.js'
import { endOf } from './list-ids.js'

/** A list as known in this process. */
export interface ListHere {
  /** When the store was last asked, in milliseconds since the epoch. */
  readonly refreshedAt: number
  readonly bitmap: Readonly<Bitmap>
}

interface Kept {
  refreshedAt: number
  refreshing: Promise<void> | undefined
  readonly bitmap: Bitmap
}

/** The lists requested in this process, kept until they end and across reloads. Each takes 128 KiB. */
export interface ListsHere {
  /** Returns a list, which must be ours. It may not have been read from the store yet. */
  get(list: string): ListHere
  /** Loads revocations made by other processes. Concurrent callers share one query. Throws `Unavailable`. */
  refresh(list: string): Promise<void>
  /** Adds revocations made by this process. */
  revoked(list: string, indexes: readonly number[]): void
  /** How many lists are held here, and how many of their entries are revoked. */
  count(): { readonly lists: number; readonly revoked: number }
}

export const createListsHere = (bits: RecordStore<string>, clock: Clock): ListsHere => {
  const kept = new Map<string, Kept>()

  const open = (list: string): Kept => {
    const known = kept.get(list)
    if (known !== undefined) return known
    for (const old of kept.keys()) if (endOf(old) <= epochSeconds(clock)) kept.delete(old)
    const opened: Kept = { refreshedAt: -Infinity, refreshing: undefined, bitmap: createBitmap() }
    kept.set(list, opened)
    return opened
  }

  const read = async (list: string, of: Kept): Promise<void> => {
    const asked = clock()
    await readBits(bits, list, of.bitmap)
    of.refreshedAt = asked
  }

  return {
    get: open,
    count() {
      const live = [...kept].filter(([list]) => endOf(list) > epochSeconds(clock))
      return { lists: live.length, revoked: live.reduce((sum, [, { bitmap }]) => sum + bitmap.revoked, 0) }
    },
    refresh(list) {
      const of = open(list)
      return (of.refreshing ??= read(list, of).finally(() => {
        of.refreshing = undefined
      }))
    },
    revoked(list, indexes) {
      const of = kept.get(list)
      if (of !== undefined) addBits(of.bitmap, indexes)
    },
  }
}
