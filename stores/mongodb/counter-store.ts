import { randomBytes } from 'node:crypto'
import type { CounterStore } from '../../core/api/storage.js'
import { compareAndSet } from './compare-and-set.js'
import { schema, type StoredDocument } from './document.js'
import type { Gateway } from './gateway.js'
import { compositeId } from './ids.js'
import { createTable } from './table.js'

interface CounterDocument extends StoredDocument {
  /** JSON. */
  readonly state: string
  /** Random and not a number, because a state that was removed and written again must not look like the old one. */
  readonly revision: string
}

const newRevision = (): string => randomBytes(9).toString('base64url')

export const createCounterStore = (gateway: Gateway, name: string): CounterStore => {
  const table = createTable<CounterDocument>(gateway, name)
  return {
    update: async (namespace, id, decide) => {
      const _id = compositeId(namespace, id)
      return compareAndSet(gateway.component, async () => {
        const now = table.now()
        const before = await table.find(_id)
        const state = before && (JSON.parse(before.state) as Parameters<typeof decide>[0])
        const { result, write } = decide(state, now, before?.expireAt?.getTime())
        if (write === undefined) return { result }
        if (write === null) {
          const gone = before === undefined || (await table.remove({ _id, revision: before.revision }))
          return gone ? { result } : undefined
        }
        const fields = {
          state: JSON.stringify(write.state),
          revision: newRevision(),
          expireAt: new Date(Math.ceil(write.forgetAt)),
        }
        const isStored =
          before === undefined
            ? await table.insert({ _id, v: schema, ...fields })
            : (await table.change({ _id, revision: before.revision }, fields)) !== undefined
        return isStored ? { result } : undefined
      })
    },
  }
}
