import { epochSeconds, type Clock } from '../../clock.js'
import type { RecordStore } from '../../storage/ports.js'
import { addBits, createBitmap, readBits, type Bitmap } from './bits.js'
import { endOf } from './list-ids.js'

/** A list as this process knows it. */
export interface ListHere {
  /** When the store was asked: milliseconds since the epoch. */
  readonly lookedAt: number
  readonly bitmap: Readonly<Bitmap>
}

interface Kept {
  lookedAt: number
  looking: Promise<void> | undefined
  readonly bitmap: Bitmap
}

/** The lists that were asked for in this process, until they end. They stay over a reload: 128 KiB each. */
export interface ListsHere {
  /** The list, which is ours. It may not have been looked at. */
  get(list: string): ListHere
  /** Takes over what other processes have revoked. However many ask at once, the store is asked once. Throws `Unavailable`. */
  look(list: string): Promise<void>
  /** Takes over what this process has revoked. */
  revoked(list: string, indexes: readonly number[]): void
  /** How many lists are here, and how many entries of them are revoked. */
  count(): { readonly lists: number; readonly revoked: number }
}

export const createListsHere = (bits: RecordStore<string>, clock: Clock): ListsHere => {
  const kept = new Map<string, Kept>()

  const open = (list: string): Kept => {
    const known = kept.get(list)
    if (known !== undefined) return known
    for (const old of kept.keys()) if (endOf(old) <= epochSeconds(clock)) kept.delete(old)
    const opened: Kept = { lookedAt: -Infinity, looking: undefined, bitmap: createBitmap() }
    kept.set(list, opened)
    return opened
  }

  const read = async (list: string, of: Kept): Promise<void> => {
    const asked = clock()
    await readBits(bits, list, of.bitmap)
    of.lookedAt = asked
  }

  return {
    get: open,
    count() {
      const live = [...kept].filter(([list]) => endOf(list) > epochSeconds(clock))
      return { lists: live.length, revoked: live.reduce((sum, [, { bitmap }]) => sum + bitmap.revoked, 0) }
    },
    look(list) {
      const of = open(list)
      return (of.looking ??= read(list, of).finally(() => {
        of.looking = undefined
      }))
    },
    revoked(list, indexes) {
      const of = kept.get(list)
      if (of !== undefined) addBits(of.bitmap, indexes)
    },
  }
}
