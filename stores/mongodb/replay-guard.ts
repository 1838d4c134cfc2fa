import type { ReplayGuard } from '../../core/api/storage.js'
import { after, schema, type StoredDocument } from './document.js'
import type { Gateway } from './gateway.js'
import { compositeId } from './ids.js'
import { createTable } from './table.js'

export const createReplayGuard = (gateway: Gateway, name: string): ReplayGuard => {
  const table = createTable<StoredDocument>(gateway, name)
  return {
    claim: async (namespace, id, ttlSeconds) =>
      table.insert({ _id: compositeId(namespace, id), v: schema, expireAt: after(table.now(), ttlSeconds) }),
  }
}
