import { nextAttempt, type Attempts } from '../../../core/storage/attempts.js'
import type { RefreshFamily, StorageBackend } from '../../../core/storage/ports.js'
import type { RaceBackend } from './primitives.js'

interface Code {
  readonly record: unknown
  readonly redeemed: boolean
}

/**
 * What an adapter must not be: everywhere it looks first and saves afterwards, on a store that is sound. The races must
 * find it out, else they prove nothing.
 */
export const breakBackend = (sound: StorageBackend): RaceBackend => ({
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
      put: async (id, record) => {
        if ((await records.find(id)) !== undefined) return false
        return records.put(id, record)
      },
    }
  },
  attempts: (name) => {
    const attempts = sound.records<Attempts>(name)
    return {
      take: async (namespace, id, policy) => {
        const next = nextAttempt(await attempts.find(namespace + id), policy, Date.now())
        if (next.attempts !== undefined) await attempts.put(namespace + id, next.attempts)
        return next
      },
    }
  },
})
