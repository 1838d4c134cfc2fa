import type { ReplayGuard } from '../ports.js'
import { envelope } from './envelope.js'
import { compositeKey } from './key.js'
import type { Table } from './table.js'

export const createReplayGuard = (table: Table, name: string): ReplayGuard => ({
  claim: async (namespace, id, ttlSeconds) =>
    table.update(compositeKey(name, namespace, id), (current, now) =>
      current === undefined ? { result: true, write: envelope(true, now + ttlSeconds * 1000) } : { result: false },
    ),
})
