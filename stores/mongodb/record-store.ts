import type { RecordStore } from '../../core/api/storage.js'
import { compareAndSet } from './compare-and-set.js'
import { after, isUnexpiredOrLasting, schema, type StoredDocument } from './document.js'
import type { Gateway } from './gateway.js'
import { newRecordId, recordId, textOf } from './ids.js'
import { createTable } from './table.js'

interface RecordDocument extends StoredDocument {
  /** JSON. */
  readonly record: string
}

export const createRecordStore = <T>(gateway: Gateway, name: string): RecordStore<T> => {
  const table = createTable<RecordDocument>(gateway, name, isUnexpiredOrLasting)
  const live = () => isUnexpiredOrLasting(table.now())
  const recordOf = ({ record }: RecordDocument) => JSON.parse(record) as T

  return {
    find: async (id) => {
      const _id = recordId(id)
      const found = _id === undefined ? undefined : await table.find(_id)
      return found && recordOf(found)
    },
    put: async (id, value, { ttlSeconds, onlyIfAbsent } = {}) => {
      const _id = newRecordId(id)
      const record = JSON.stringify(value)
      const expiry = ttlSeconds === undefined ? {} : { expireAt: after(table.now(), ttlSeconds) }
      if (onlyIfAbsent === true) return table.insert({ _id, v: schema, record, ...expiry })
      const lasts = ttlSeconds === undefined && { $unset: { expireAt: true } }
      await table.write(_id, { $set: { v: schema, record, ...expiry }, ...lasts })
      return true
    },
    remove: async (id) => {
      const _id = recordId(id)
      return _id !== undefined && table.remove({ _id, ...live() })
    },
    update: async (id, decide) => {
      const _id = newRecordId(id)
      return compareAndSet(gateway.component, async () => {
        const before = await table.find(_id)
        const { result, write } = decide(before && recordOf(before), before?.expireAt?.getTime())
        if (write === undefined) return { result }
        // The text is the state: if it is unchanged, nothing has happened that the decision depends on.
        const asBefore = before && { _id, record: before.record, expireAt: before.expireAt ?? { $exists: false } }
        if (write === null) return asBefore === undefined || (await table.remove(asBefore)) ? { result } : undefined
        const record = JSON.stringify(write.record)
        const expiry = write.expiresAt === undefined ? {} : { expireAt: new Date(Math.ceil(write.expiresAt)) }
        if (asBefore === undefined)
          return (await table.insert({ _id, v: schema, record, ...expiry })) ? { result } : undefined
        const lasts = write.expiresAt === undefined ? 'expireAt' : undefined
        return (await table.change(asBefore, { record, ...expiry }, lasts)) === undefined ? undefined : { result }
      })
    },
    list: async (from, limit) => {
      const later = from === undefined || from === '' ? {} : { _id: { $gt: newRecordId(from) } }
      const found = await table.list({ ...later, ...live() }, limit)
      return found.map((document) => ({ id: textOf(document._id), record: recordOf(document) }))
    },
  }
}
