import {
  nextDecision,
  nextPoll,
  nextRedemption,
  type DeviceCodeStep,
  type StoredDeviceCode,
} from '../../../../core/storage/device-codes.js'
import type { CounterDecision, RefreshFamily, StorageBackend } from '../../../../core/storage/ports.js'
import type { RaceBackend } from './primitives.js'

interface Code {
  readonly record: unknown
  readonly redeemed: boolean
}

/**
 * What an adapter must not be: everywhere it looks first and saves afterwards, on a store that is sound. The races must
 * find it out, else they prove nothing.
 */
export const breakBackend = (sound: Pick<StorageBackend, 'records'>): RaceBackend => ({
  oneTime: (name) => {
    const codes = sound.records<Code>(name)
    return {
      put: async (id, record) => {
        await codes.put(id, { record, redeemed: false })
      },
      redeem: async (id) => {
        const code = await codes.find(id)
        if (code === undefined) return { outcome: 'unknown' }
        if (code.redeemed) return { outcome: 'replayed', record: code.record }
        await codes.put(id, { ...code, redeemed: true })
        return { outcome: 'won', record: code.record }
      },
    }
  },
  replayGuard: (name) => {
    const claims = sound.records<boolean>(name)
    return {
      claim: async (namespace, id, ttlSeconds) => {
        if (await claims.find(namespace + id)) return false
        return claims.put(namespace + id, true, { ttlSeconds })
      },
    }
  },
  refreshFamilies: (name) => {
    const families = sound.records<RefreshFamily<unknown>>(name)
    return {
      start: async (family, record) => {
        await families.put(family, record)
      },
      find: (family) => families.find(family),
      rotate: async (id, { presented, successor }) => {
        const family = await families.find(id)
        if (family === undefined) return { outcome: 'unknown' }
        if (family.current !== presented) return { outcome: 'replayed', record: family }
        const record: RefreshFamily<unknown> = { ...family, current: successor?.hash ?? presented }
        await families.put(id, record)
        return { outcome: 'won', record }
      },
    }
  },
  records: (name) => {
    const records = sound.records<unknown>(name)
    return {
      ...records,
      put: async (id, record) => {
        if ((await records.find(id)) !== undefined) return false
        return records.put(id, record)
      },
      remove: async (id) => {
        if ((await records.find(id)) === undefined) return false
        await records.remove(id)
        return true
      },
      update: async (id, decide) => {
        const { result, write } = decide(await records.find(id), undefined)
        if (write === null) await records.remove(id)
        else if (write !== undefined) await records.put(id, write.record)
        return result
      },
    }
  },
  counters: (name) => ({
    update: async <State, Result>(namespace: string, id: string, decide: CounterDecision<State, Result>) => {
      const states = sound.records<State>(name)
      const { result, write } = decide(await states.find(namespace + id), Date.now(), undefined)
      if (write === null) await states.remove(namespace + id)
      else if (write !== undefined) await states.put(namespace + id, write.state)
      return result
    },
  }),
  deviceCodes: (name) => {
    type Stored = StoredDeviceCode<unknown, unknown>
    const codes = sound.records<Stored>(name)
    const ids = sound.records<string>(`${name}_ids`)
    const change = async <Result>(id: string, next: (stored: Stored) => DeviceCodeStep<Result, Stored>) => {
      const stored = await codes.find(id)
      if (stored === undefined) return { outcome: 'unknown' } as const
      const { result, write } = next(stored)
      if (write !== undefined) await codes.put(id, write)
      return result
    }
    return {
      start: async (id, record, ttlSeconds) => {
        if ((await ids.find(record.userCode)) !== undefined) return false
        await ids.put(record.userCode, id)
        await codes.put(id, { ...record, expiresAt: Date.now() + ttlSeconds * 1000 })
        return true
      },
      decide: async (userCode, decision) =>
        change((await ids.find(userCode)) ?? '', (stored) => nextDecision(stored, decision, Date.now())),
      poll: (id) => change(id, (stored) => nextPoll(stored, Date.now())),
      redeem: (id) => change(id, (stored) => nextRedemption(stored, Date.now())),
    }
  },
})
