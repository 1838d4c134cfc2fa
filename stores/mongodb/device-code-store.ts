import {
  keptSeconds,
  nextDecision,
  nextPoll,
  nextRedemption,
  viewDeviceCode,
  type DeviceCodeStep,
  type DeviceCodeStore,
  type StoredDeviceCode,
} from '../../core/api/storage.js'
import { compareAndSet } from './compare-and-set.js'
import { after, schema, type StoredDocument } from './document.js'
import type { Gateway } from './gateway.js'
import { compositeId } from './ids.js'
import { createTable } from './table.js'

interface DeviceDocument extends StoredDocument {
  /** JSON of what the device waits for. If the id is a user code, the id of that record. */
  readonly record: string
  /** Counts changes. */
  readonly revision: number
}

/**
 * Records are stored under the device code. Under the user code, which only one of them may have, is its device code.
 */
export const createDeviceCodeStore = <R, A>(gateway: Gateway, name: string): DeviceCodeStore<R, A> => {
  type Stored = StoredDeviceCode<R, A>
  const table = createTable<DeviceDocument>(gateway, name)
  const keyOf = (id: string): string => compositeId('device', id)
  const keyOfUserCode = (userCode: string): string => compositeId('user', userCode)

  const find = async (id: string) => {
    const found = await table.find(keyOf(id))
    return found && viewDeviceCode(JSON.parse(found.record) as Stored, table.now())
  }

  const findId = async (userCode: string) => {
    const found = await table.find(keyOfUserCode(userCode))
    return found && (JSON.parse(found.record) as string)
  }

  const insert = (_id: string, record: unknown, expireAt: Date): Promise<boolean> =>
    table.insert({ _id, v: schema, record: JSON.stringify(record), revision: 0, expireAt })

  const change = <Result>(id: string, next: (stored: Stored, now: number) => DeviceCodeStep<Result, Stored>) =>
    compareAndSet<Result | { readonly outcome: 'unknown' }>(gateway.component, async () => {
      const found = await table.find(keyOf(id))
      if (found === undefined) return { result: { outcome: 'unknown' } }
      const { result, write } = next(JSON.parse(found.record) as Stored, table.now())
      if (write === undefined) return { result }
      const { _id, revision } = found
      const set = { record: JSON.stringify(write), revision: revision + 1 }
      return (await table.change({ _id, revision }, set)) === undefined ? undefined : { result }
    })

  return {
    async start(id, { userCode, request, intervalSeconds }, ttlSeconds) {
      const now = table.now()
      const forgetAt = after(now, keptSeconds(ttlSeconds))
      // The user code is reserved first: the caller that gets it owns the record.
      if (!(await insert(keyOfUserCode(userCode), id, forgetAt))) return false
      const stored: Stored = { userCode, request, intervalSeconds, expiresAt: now + ttlSeconds * 1000 }
      if (!(await insert(keyOf(id), stored, forgetAt))) throw new Error(`${name}: the id exists`)
      return true
    },
    find,
    findByUserCode: async (userCode) => {
      const id = await findId(userCode)
      return id === undefined ? undefined : find(id)
    },
    poll: (id) => change(id, nextPoll<R, A>),
    decide: async (userCode, decision) => {
      const id = await findId(userCode)
      if (id === undefined) return { outcome: 'unknown' }
      return change(id, (stored, now) => nextDecision(stored, decision, now))
    },
    redeem: (id) => change(id, nextRedemption<R, A>),
  }
}
