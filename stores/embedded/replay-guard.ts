import { Unavailable } from '../../core/api/storage.js'
import { envelope } from './envelope.js'
import { findFence, raiseFence } from './forgotten.js'
import { compositeKey } from './key.js'
import type { Table } from './table.js'

/** Used for both roles. If the caller gives no time from which the id could be accepted, the remaining time is used. */
export const createReplayGuard = (table: Table, name: string, component: string) => ({
  since: () => findFence(table),
  claim: async (namespace: string, id: string, ttlSeconds: number, earliest?: number): Promise<boolean> => {
    const fence = await raiseFence(table)
    if (fence > 0 && !((earliest ?? table.now() + ttlSeconds * 1000 - 1) >= fence))
      throw new Unavailable(component, 'no', 'the clock was set back: what was used before may have been forgotten')
    return table.update(compositeKey(name, namespace, id), (current, now) =>
      current === undefined
        ? { result: true, write: { ...envelope(true, now + ttlSeconds * 1000), claim: true } }
        : { result: false },
    )
  },
})
