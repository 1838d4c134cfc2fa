import type { RefreshFamily, StorageBackend } from '../../../../core/storage/ports.js'

/** A store that looks first and saves afterwards. The races must find it out, else they prove nothing. */
export const breakStore = (sound: StorageBackend): StorageBackend => ({
  ...sound,
  oneTime: <T>(name: string) => {
    const codes = sound.oneTime<T>(name)
    const used = sound.records<boolean>('broken_used')
    return {
      ...codes,
      redeem: async (id) => {
        const record = await codes.find(id)
        if (record === undefined) return { outcome: 'unknown' }
        if (await used.find(id)) return { outcome: 'replayed', record }
        await used.put(id, true)
        return { outcome: 'won', record }
      },
    }
  },
  refreshFamilies: <T>(name: string) => {
    const families = sound.refreshFamilies<T>(name)
    const changed = sound.records<RefreshFamily<T>>('broken_families')
    const find = async (family: string) => (await changed.find(family)) ?? families.find(family)
    return {
      ...families,
      find,
      rotate: async (id, { presented, successor }) => {
        const family = await find(id)
        if (family === undefined) return { outcome: 'unknown' }
        if (family.current !== presented) return { outcome: 'replayed', record: family }
        const previous = { hash: presented, salt: successor?.salt ?? '', rotatedAt: Date.now() }
        const record = { ...family, current: successor?.hash ?? presented, previous }
        await changed.put(id, record)
        return { outcome: 'won', record }
      },
    }
  },
  replayGuard: (name) => {
    const seen = sound.records<boolean>(`broken_${name}`)
    return {
      claim: async (namespace, id) => {
        if (await seen.find(`${namespace}.${id}`)) return false
        await seen.put(`${namespace}.${id}`, true)
        return true
      },
    }
  },
})
