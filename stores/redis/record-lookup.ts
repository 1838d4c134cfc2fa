import type { RecordLookup } from '../../core/api/storage.js'
import type { Connection } from './connection.js'
import { newRecordKey, recordKey } from './keys.js'
import { decodeRecord, encodeRecord, expiryAfter, keepingTime } from './values.js'

export const createRecordLookup = <T>(connection: Connection, name: string): RecordLookup<T> => ({
  find: async (id) => {
    const key = recordKey(name, id)
    if (key === undefined) return undefined
    return decodeRecord(await connection.call('GET', key), connection.clock())?.record as T | undefined
  },
  put: async (id, record, { ttlSeconds, onlyIfAbsent } = {}) => {
    const key = newRecordKey(name, id)
    const now = connection.clock()
    const value = encodeRecord(record, expiryAfter(now, ttlSeconds), connection.memory().epoch)
    const kept = keepingTime(ttlSeconds)
    if (onlyIfAbsent === true) return (await connection.run('claim', key, () => [value, kept, Math.floor(now)])) === 1
    await connection.call('SET', key, value, ...(kept === 0 ? [] : ['PX', kept]))
    return true
  },
  remove: async (id) => {
    const key = recordKey(name, id)
    if (key === undefined) return false
    return decodeRecord(await connection.call('GETDEL', key), connection.clock()) !== undefined
  },
})
