import type { RevocationStore } from '../../core/api/storage.js'
import { after, schema, type Condition, type StoredDocument } from './document.js'
import type { Gateway } from './gateway.js'
import { newRecordId, recordId } from './ids.js'
import { createTable } from './table.js'

interface Revocation extends StoredDocument {
  /** Milliseconds since the epoch: everything that began earlier is revoked. If absent, all of it is. */
  readonly before?: number
}

export const createRevocationStore = (gateway: Gateway, name: string): RevocationStore => {
  const table = createTable<Revocation>(gateway, name)

  const find = async (id: string): Promise<Revocation | undefined> => {
    const _id = recordId(id)
    return _id === undefined ? undefined : table.find(_id)
  }

  /** A second revocation never shortens it and never moves its time back. */
  const write = (id: string, ttlSeconds: number, more: Condition): Promise<void> =>
    table.write(newRecordId(id), { $set: { v: schema }, $max: { expireAt: after(table.now(), ttlSeconds), ...more } })

  return {
    revoke: async (id, ttlSeconds) => write(id, ttlSeconds, {}),
    revokeBefore: async (id, before, ttlSeconds) => write(id, ttlSeconds, { before }),
    isRevoked: async (ids, began) => {
      const [ended, ...revoked] = await Promise.all([began && find(began.id), ...ids.map(find)])
      if (revoked.some((found) => found !== undefined)) return true
      return ended !== undefined && began !== undefined && began.at < (ended.before ?? Infinity)
    },
    endedBefore: async (id) => (await find(id))?.before,
  }
}
