import type { RevocationStore } from '../ports.js'
import { after, schema, type StoredDocument } from './document.js'
import type { Gateway } from './gateway.js'
import { newRecordId, recordId } from './ids.js'
import { createTable } from './table.js'

export const createRevocationStore = (gateway: Gateway, name: string): RevocationStore => {
  const table = createTable<StoredDocument>(gateway, name)
  return {
    // A revocation is never made shorter by a second one.
    revoke: async (id, ttlSeconds) =>
      table.write(newRecordId(id), { $set: { v: schema }, $max: { expireAt: after(table.now(), ttlSeconds) } }),
    isRevoked: async (ids) => {
      const wanted = ids.map(recordId).filter((id) => id !== undefined)
      return (await Promise.all(wanted.map(table.find))).some((found) => found !== undefined)
    },
  }
}
