import type { RefreshFamily, StorageBackend } from '../../../../core/storage/ports.js'

/** A collection that has its indexes: a start waits for a store without them. */
const spare = 'migrations'

/** A store that looks first and saves afterwards. The races must find it out, else they prove nothing. */
export const breakStore = (sound: StorageBackend): StorageBackend => ({
  ...sound,
  oneTime: <T>(name: string) => {
    const codes = sound.oneTime<T>(name)
    const used = sound.records<boolean>(spare)
    const usedId = (id: string) => `used.${name}.${id}`
    return {
      ...codes,
      redeem: async (id) => {
        const record = await codes.find(id)
        if (record === undefined) return { outcome: 'unknown' }
        if (await used.find(usedId(id))) return { outcome: 'replayed', record }
        await used.put(usedId(id), true)
        return { outcome: 'won', record }
      },
    }
  },
  refreshFamilies: <T>(name: string) => {
    const families = sound.refreshFamilies<T>(name)
    const changed = sound.records<RefreshFamily<T>>(spare)
    const changedId = (family: string) => `family.${family}`
    const find = async (family: string) => (await changed.find(changedId(family))) ?? families.find(family)
    return {
      ...families,
      find,
      rotate: async (id, { presented, successor }) => {
        const family = await find(id)
        if (family === undefined) return { outcome: 'unknown' }
        if (family.current !== presented) return { outcome: 'replayed', record: family }
        const previous = { hash: presented, salt: successor?.salt ?? '', rotatedAt: Date.now() }
        const record = { ...family, current: successor?.hash ?? presented, previous }
        await changed.put(changedId(id), record)
        return { outcome: 'won', record }
      },
    }
  },
  replayGuard: (name) => {
    const seen = sound.records<boolean>(spare)
    return {
      claim: async (namespace, id) => {
        const claimed = `claimed.${name}.${namespace}.${id}`
        if (await seen.find(claimed)) return false
        await seen.put(claimed, true)
        return true
      },
    }
  },
})
