import { nextAttempt } from '../attempts.js'
import type { AttemptLimiter } from '../ports.js'
import { compareAndSet } from './compare-and-set.js'
import { schema, type StoredDocument } from './document.js'
import type { Gateway } from './gateway.js'
import { compositeId } from './ids.js'
import { createTable } from './table.js'

/** Count and time together are what is compared: no two states of one secret share them. */
interface AttemptDocument extends StoredDocument {
  readonly count: number
  /** Milliseconds since the epoch. */
  readonly last: number
}

export const createAttemptLimiter = (gateway: Gateway, name: string): AttemptLimiter => {
  const table = createTable<AttemptDocument>(gateway, name)
  return {
    take: async (namespace, id, policy) => {
      const _id = compositeId(namespace, id)
      return compareAndSet(gateway.component, async () => {
        const now = table.now()
        const before = await table.find(_id)
        const { allowed, retryAfterSeconds, attempts, forgetAt } = nextAttempt(before, policy, now)
        const result = { allowed, retryAfterSeconds }
        if (attempts === undefined) return { result }
        const { count, last } = attempts
        const fields = { count, last, expireAt: new Date(forgetAt) }
        const isStored =
          before === undefined
            ? await table.insert({ _id, v: schema, ...fields })
            : (await table.change({ _id, count: before.count, last: before.last }, fields)) !== undefined
        return isStored ? { result } : undefined
      })
    },
    clear: async (namespace, id) => {
      await table.remove({ _id: compositeId(namespace, id) })
    },
  }
}
