import type { RecordStore } from '../../core/api/storage.js'
import { envelope } from './envelope.js'
import { idOfKey, keyAfter, newRecordKey, rangeEnd, rangeStart, recordKey } from './key.js'
import type { Table } from './table.js'

export const createRecordStore = <T>(table: Table, name: string): RecordStore<T> => ({
  find: async (id) => {
    const key = recordKey(name, id)
    return key && (table.find(key)?.record as T | undefined)
  },
  put: async (id, record, { ttlSeconds, onlyIfAbsent } = {}) =>
    table.update(newRecordKey(name, id), (current, now) =>
      onlyIfAbsent === true && current !== undefined
        ? { result: false }
        : { result: true, write: envelope(record, ttlSeconds === undefined ? undefined : now + ttlSeconds * 1000) },
    ),
  putAll: async (records) => {
    const expiry = (ttlSeconds?: number) => (ttlSeconds === undefined ? undefined : table.now() + ttlSeconds * 1000)
    await table.replaceAll(
      records.map(({ id, record, ttlSeconds }) => ({
        key: newRecordKey(name, id),
        envelope: envelope(record, expiry(ttlSeconds)),
      })),
    )
  },
  remove: async (id) => {
    const key = recordKey(name, id)
    if (key === undefined) return false
    return table.update(key, (current) => (current === undefined ? { result: false } : { result: true, write: null }))
  },
  update: async (id, decide) =>
    table.update(newRecordKey(name, id), (current) => {
      const { result, write } = decide(current?.record as T | undefined, current?.expires)
      if (write === undefined) return { result }
      return { result, write: write && envelope(write.record, write.expiresAt) }
    }),
  list: async (after, limit) => {
    const start = after === undefined || after === '' ? rangeStart(name) : keyAfter(newRecordKey(name, after))
    const rows = table.list(start, rangeEnd(name), limit)
    return rows.map(({ key, record }) => ({ id: idOfKey(name, key), record: record as T }))
  },
})
