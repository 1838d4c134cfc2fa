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
import { envelope } from './envelope.js'
import { compositeKey } from './key.js'
import type { Table } from './table.js'

/** Records are stored under the device code. Under the user code there is only the id of the record. */
export const createDeviceCodeStore = <R, A>(table: Table, name: string): DeviceCodeStore<R, A> => {
  type Stored = StoredDeviceCode<R, A>
  const keyOf = (id: string): Buffer => compositeKey(name, 'device', id)
  const keyOfUserCode = (userCode: string): Buffer => compositeKey(name, 'user', userCode)

  const find = (id: string) => table.find(keyOf(id))?.record as Stored | undefined

  const findId = (userCode: string) => table.find(keyOfUserCode(userCode))?.record as string | undefined

  const change = <Result>(
    id: string,
    next: (stored: Stored, now: number) => DeviceCodeStep<Result, Stored>,
  ): Promise<Result | { readonly outcome: 'unknown' }> =>
    table.update<Result | { readonly outcome: 'unknown' }>(keyOf(id), (current, now) => {
      if (current === undefined) return { result: { outcome: 'unknown' } }
      const { result, write } = next(current.record as Stored, now)
      return write === undefined ? { result } : { result, write: { ...current, record: write } }
    })

  return {
    async start(id, { userCode, request, intervalSeconds }, ttlSeconds) {
      // The user code is reserved first: the caller that gets it owns the record.
      const reserved = await table.update(keyOfUserCode(userCode), (current, now) =>
        current === undefined
          ? { result: true, write: envelope(id, now + keptSeconds(ttlSeconds) * 1000) }
          : { result: false },
      )
      if (!reserved) return false
      await table.update(keyOf(id), (current, now) => {
        if (current !== undefined) throw new Error(`${name}: the id exists`)
        const expiresAt = now + ttlSeconds * 1000
        const stored: Stored = { userCode, request, intervalSeconds, expiresAt }
        return { result: undefined, write: envelope(stored, now + keptSeconds(ttlSeconds) * 1000) }
      })
      return true
    },
    find: async (id) => {
      const stored = find(id)
      return stored && viewDeviceCode(stored, table.now())
    },
    findByUserCode: async (userCode) => {
      const id = findId(userCode)
      const stored = id === undefined ? undefined : find(id)
      return stored && viewDeviceCode(stored, table.now())
    },
    poll: (id) => change(id, nextPoll<R, A>),
    decide: async (userCode, decision) => {
      const id = findId(userCode)
      if (id === undefined) return { outcome: 'unknown' }
      return change(id, (stored, now) => nextDecision(stored, decision, now))
    },
    redeem: (id) => change(id, nextRedemption<R, A>),
  }
}
