import { nextAttempt, type Attempts } from '../attempts.js'
import type { AttemptLimiter } from '../ports.js'
import { envelope } from './envelope.js'
import { compositeKey } from './key.js'
import type { Table } from './table.js'

export const createAttemptLimiter = (table: Table, name: string): AttemptLimiter => ({
  take: async (namespace, id, policy) =>
    table.update(compositeKey(name, namespace, id), (current, now) => {
      const next = nextAttempt(current?.record as Attempts | undefined, policy, now)
      const { allowed, retryAfterSeconds, attempts, forgetAt } = next
      const result = { allowed, retryAfterSeconds }
      return attempts === undefined ? { result } : { result, write: envelope(attempts, forgetAt) }
    }),
  clear: async (namespace, id) => {
    await table.update(compositeKey(name, namespace, id), (current) => ({
      result: undefined,
      ...(current === undefined ? {} : { write: null }),
    }))
  },
})
