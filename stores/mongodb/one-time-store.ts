import type { OneTimeStore } from '../../core/api/storage.js'
import { after, isUnexpired, schema, type StoredDocument } from './document.js'
import type { Gateway } from './gateway.js'
import { newRecordId, recordId } from './ids.js'
import { createTable } from './table.js'

interface OneTimeDocument extends StoredDocument {
  /** JSON. */
  readonly record: string
  readonly redeemed?: true
}

export const createOneTimeStore = <T>(gateway: Gateway, name: string): OneTimeStore<T> => {
  const table = createTable<OneTimeDocument>(gateway, name)
  const find = async (id: string) => {
    const _id = recordId(id)
    return _id === undefined ? undefined : table.find(_id)
  }
  const recordOf = ({ record }: OneTimeDocument) => JSON.parse(record) as T

  return {
    put: async (id, record, ttlSeconds) => {
      const expireAt = after(table.now(), ttlSeconds)
      const stored = await table.insert({ _id: newRecordId(id), v: schema, record: JSON.stringify(record), expireAt })
      if (!stored) throw new Error(`${name}: the id exists`)
    },
    find: async (id) => {
      const found = await find(id)
      return found && recordOf(found)
    },
    findUnused: async (id) => {
      const found = await find(id)
      return found === undefined || found.redeemed === true ? undefined : recordOf(found)
    },
    redeem: async (id) => {
      const _id = recordId(id)
      if (_id === undefined) return { outcome: 'unknown' }
      const unused = { _id, redeemed: { $ne: true }, ...isUnexpired(table.now()) }
      const won = await table.change(unused, { redeemed: true })
      if (won !== undefined) return { outcome: 'won', record: recordOf(won) }
      const found = await find(id)
      // It is unused now, because it was stored after our query.
      return found?.redeemed === true ? { outcome: 'replayed', record: recordOf(found) } : { outcome: 'unknown' }
    },
  }
}
