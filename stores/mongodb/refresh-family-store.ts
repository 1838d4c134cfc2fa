import type { Redemption, RefreshFamily, RefreshFamilyStore, Rotation } from '../../core/api/storage.js'
import { after, isUnexpired, schema, type StoredDocument } from './document.js'
import type { Gateway } from './gateway.js'
import { newRecordId, onlyText, recordId } from './ids.js'
import { createTable } from './table.js'

/**
 * `expireAt` is the idle expiry. One atomic step cannot compute the earlier of both times, so every query checks
 * both.
 */
interface FamilyDocument extends StoredDocument {
  /** JSON. */
  readonly grant: string
  readonly current: string
  readonly previous?: NonNullable<RefreshFamily<unknown>['previous']>
  /** Milliseconds since the epoch. */
  readonly absoluteExpiry: number
  readonly expireAt: Date
}

const familyOf = <T>({ grant, current, previous, absoluteExpiry }: FamilyDocument): RefreshFamily<T> => ({
  grant: JSON.parse(grant) as T,
  current,
  ...(previous && { previous: { hash: previous.hash, salt: previous.salt, rotatedAt: previous.rotatedAt } }),
  absoluteExpiry,
})

export const createRefreshFamilyStore = <T>(gateway: Gateway, name: string): RefreshFamilyStore<T> => {
  const live = (now: number) => ({ ...isUnexpired(now), absoluteExpiry: { $gt: now } })
  const table = createTable<FamilyDocument>(gateway, name, live)

  const find = async (family: string) => {
    const _id = recordId(family)
    return _id === undefined ? undefined : table.find(_id)
  }

  /** The result for a caller whose token is not, or no longer, the live one. */
  const lost = async (family: string): Promise<Redemption<RefreshFamily<T>>> => {
    const found = await find(family)
    return found === undefined ? { outcome: 'unknown' } : { outcome: 'replayed', record: familyOf(found) }
  }

  const change = async (family: string, presented: string, set: Partial<FamilyDocument>) => {
    const current = { _id: newRecordId(family), current: onlyText(presented), ...live(table.now()) }
    const won = await table.change(current, set)
    return won === undefined ? lost(family) : ({ outcome: 'won', record: familyOf<T>(won) } as const)
  }

  /** Restarts the idle time, unless it has hardly started: most uses of such a token write nothing. */
  const touch = async (family: string, { presented, idleTtlSeconds }: Rotation) => {
    const found = await find(family)
    if (found === undefined) return { outcome: 'unknown' } as const
    if (found.current !== onlyText(presented)) return { outcome: 'replayed', record: familyOf<T>(found) } as const
    const expireAt = after(table.now(), idleTtlSeconds)
    const isWorthWriting =
      Math.min(expireAt.getTime(), found.absoluteExpiry) - found.expireAt.getTime() > idleTtlSeconds * 10
    return isWorthWriting
      ? change(family, presented, { expireAt })
      : ({ outcome: 'won', record: familyOf<T>(found) } as const)
  }

  return {
    start: async (family, { grant, current, previous, absoluteExpiry }, idleTtlSeconds) => {
      const stored = await table.insert({
        _id: newRecordId(family),
        v: schema,
        grant: JSON.stringify(grant),
        current: onlyText(current),
        ...(previous && { previous }),
        absoluteExpiry,
        expireAt: new Date(Math.min(table.now() + idleTtlSeconds * 1000, absoluteExpiry)),
      })
      if (!stored) throw new Error(`${name}: the family exists`)
    },
    find: async (family) => {
      const found = await find(family)
      return found && familyOf(found)
    },
    rotate: async (family, rotation) => {
      const { presented, successor, idleTtlSeconds } = rotation
      if (recordId(family) === undefined) return { outcome: 'unknown' }
      if (successor === undefined) return touch(family, rotation)
      const now = table.now()
      const previous = { hash: onlyText(presented), salt: onlyText(successor.salt), rotatedAt: now }
      const set = { current: onlyText(successor.hash), previous, expireAt: after(now, idleTtlSeconds) }
      return change(family, presented, set)
    },
    remove: async (family) => {
      const _id = recordId(family)
      if (_id !== undefined) await table.remove({ _id })
    },
  }
}
