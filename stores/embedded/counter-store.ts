import type { CounterStore } from '../../core/api/storage.js'
import { envelope } from './envelope.js'
import { compositeKey } from './key.js'
import type { Table } from './table.js'

export const createCounterStore = (table: Table, name: string): CounterStore => ({
  update: async (namespace, id, decide) =>
    table.update(compositeKey(name, namespace, id), (current, now) => {
      const { result, write } = decide(current?.record as Parameters<typeof decide>[0], now, current?.expires)
      if (write === undefined) return { result }
      return { result, write: write && envelope(write.state, write.forgetAt) }
    }),
})
