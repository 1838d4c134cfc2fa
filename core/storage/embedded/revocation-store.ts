import type { RevocationStore } from '../ports.js'
import type { Decision } from './committer.js'
import { envelope, type Envelope } from './envelope.js'
import { newRecordKey, recordKey } from './key.js'
import type { Table } from './table.js'

/** Milliseconds. Revocations are few, and without one what was ended would live again by a clock that was set back (F23). */
const spared = 86_400_000

export const createRevocationStore = (table: Table, name: string): RevocationStore => ({
  revoke: async (id, ttlSeconds) => {
    const lengthen = (current: Envelope | undefined, now: number): Decision<undefined> => {
      const expires = now + ttlSeconds * 1000
      // A revocation is never made shorter by a second one.
      const lasts = current?.expires !== undefined && current.expires >= expires
      return { result: undefined, ...(lasts ? {} : { write: { ...envelope(true, expires), spared } }) }
    }
    await table.update(newRecordKey(name, id), lengthen, 'essential')
  },
  isRevoked: async (ids) =>
    ids.some((id) => {
      const key = recordKey(name, id)
      return key !== undefined && table.find(key) !== undefined
    }),
})
