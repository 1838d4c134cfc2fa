import type { Redemption, RefreshFamily, RefreshFamilyStore, Rotation } from '../../core/api/storage.js'
import type { Decision } from './committer.js'
import { envelope, type Envelope } from './envelope.js'
import { newRecordKey, recordKey } from './key.js'
import type { Table } from './table.js'

const expiryOf = (family: RefreshFamily<unknown>, now: number, idleTtlSeconds: number): number =>
  Math.min(now + idleTtlSeconds * 1000, family.absoluteExpiry)

const rotate = <T>(
  current: Envelope | undefined,
  now: number,
  { presented, successor, idleTtlSeconds }: Rotation,
): Decision<Redemption<RefreshFamily<T>>> => {
  if (current === undefined) return { result: { outcome: 'unknown' } }
  const family = current.record as RefreshFamily<T>
  if (family.current !== presented) return { result: { outcome: 'replayed', record: family } }
  const expires = expiryOf(family, now, idleTtlSeconds)
  if (successor === undefined) {
    const result = { outcome: 'won', record: family } as const
    const isWorthWriting = expires - (current.expires ?? 0) > idleTtlSeconds * 10
    return isWorthWriting ? { result, write: { ...current, expires } } : { result }
  }
  const previous = { hash: presented, salt: successor.salt, rotatedAt: now }
  const record = { ...family, current: successor.hash, previous }
  return { result: { outcome: 'won', record }, write: { ...current, record, expires } }
}

export const createRefreshFamilyStore = <T>(table: Table, name: string): RefreshFamilyStore<T> => ({
  start: async (family, record, idleTtlSeconds) => {
    await table.update(newRecordKey(name, family), (current, now) => {
      if (current !== undefined) throw new Error(`${name}: the family exists`)
      return { result: undefined, write: envelope(record, expiryOf(record, now, idleTtlSeconds)) }
    })
  },
  find: async (family) => {
    const key = recordKey(name, family)
    return key && (table.find(key)?.record as RefreshFamily<T> | undefined)
  },
  rotate: async (family, rotation) => {
    const key = recordKey(name, family)
    if (key === undefined) return { outcome: 'unknown' }
    return table.update(key, (current, now) => rotate<T>(current, now, rotation))
  },
  remove: async (family) => {
    const key = recordKey(name, family)
    if (key === undefined) return
    await table.update(key, (current) => ({ result: undefined, ...(current === undefined ? {} : { write: null }) }))
  },
})
