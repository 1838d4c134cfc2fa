import type { EphemeralReplayGuard } from '../../core/api/storage.js'
import type { Connection } from './connection.js'
import { compositeKey } from './keys.js'
import { expiryAfter, keepingTime, newToken } from './values.js'

export const createReplayGuard = (connection: Connection, name: string): EphemeralReplayGuard => ({
  since: connection.since,
  claim: async (namespace, id, ttlSeconds, earliest) => {
    const now = connection.clock()
    const value = `${String(expiryAfter(now, ttlSeconds))}.${newToken()}`
    const answer = await connection.run('claim', compositeKey(name, namespace, id), ({ since }) => {
      // Written so that an undefined time is refused too.
      if (!(earliest >= since)) throw connection.refuse('may have forgotten what was used before')
      return [value, keepingTime(ttlSeconds), Math.floor(now)]
    })
    return answer === 1
  },
})
