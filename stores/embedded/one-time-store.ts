import type { OneTimeStore, Redemption } from '../../core/api/storage.js'
import type { Decision } from './committer.js'
import { envelope, type Envelope } from './envelope.js'
import { newRecordKey, recordKey } from './key.js'
import type { Table } from './table.js'

const redeem = <T>(current: Envelope | undefined): Decision<Redemption<T>> => {
  if (current === undefined) return { result: { outcome: 'unknown' } }
  const record = current.record as T
  return current.redeemed === true
    ? { result: { outcome: 'replayed', record } }
    : { result: { outcome: 'won', record }, write: { ...current, redeemed: true } }
}

export const createOneTimeStore = <T>(table: Table, name: string): OneTimeStore<T> => ({
  put: async (id, record, ttlSeconds) => {
    await table.update(newRecordKey(name, id), (current, now) => {
      if (current !== undefined) throw new Error(`${name}: the id exists`)
      return { result: undefined, write: envelope(record, now + ttlSeconds * 1000) }
    })
  },
  find: async (id) => {
    const key = recordKey(name, id)
    return key && (table.find(key)?.record as T | undefined)
  },
  findUnused: async (id) => {
    const key = recordKey(name, id)
    const found = key && table.find(key)
    return found?.redeemed === true ? undefined : (found?.record as T | undefined)
  },
  redeem: async (id) => {
    const key = recordKey(name, id)
    return key === undefined ? { outcome: 'unknown' } : table.update(key, redeem<T>)
  },
})
