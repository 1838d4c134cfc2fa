import type { OneTimeStore } from '../../core/api/storage.js'
import type { Connection } from './connection.js'
import { newRecordKey, recordKey } from './keys.js'
import { decodeRecord, encodeRecord, expiryAfter, keepingTime, newToken, type Stored } from './values.js'

/** Records stored before a possible loss are not used, because they could have been redeemed. */
export const createOneTimeStore = <T>(connection: Connection, name: string): OneTimeStore<T> => {
  const read = async (id: string): Promise<Stored | undefined> => {
    const key = recordKey(name, id)
    if (key === undefined) return undefined
    const found = decodeRecord(await connection.call('GET', key), connection.clock())
    return found?.epoch === connection.memory().epoch ? found : undefined
  }

  return {
    put: async (id, record, ttlSeconds) => {
      const key = newRecordKey(name, id)
      const now = connection.clock()
      const written = await connection.run('claim', key, ({ epoch }) => [
        encodeRecord(record, expiryAfter(now, ttlSeconds), epoch),
        keepingTime(ttlSeconds),
        Math.floor(now),
      ])
      if (written !== 1) throw new Error(`${name}: the id exists`)
    },
    find: async (id) => (await read(id))?.record as T | undefined,
    findUnused: async (id) => {
      const found = await read(id)
      return found?.redeemed === false ? (found.record as T) : undefined
    },
    redeem: async (id) => {
      const key = recordKey(name, id)
      if (key === undefined) return { outcome: 'unknown' }
      const [token, now] = [newToken(), Math.floor(connection.clock())]
      const answer = await connection.run('redeem', key, ({ epoch }) => [epoch, token, now])
      if (!Array.isArray(answer)) return { outcome: 'unknown' }
      const record = JSON.parse(String(answer[1])) as T
      return { outcome: answer[0] === 1 ? 'won' : 'replayed', record }
    },
  }
}
