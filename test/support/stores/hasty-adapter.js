import { z } from 'zod'
import { defineStorage } from '../../../dist/core/api/storage.js'
import { openEmbedded } from '../../../dist/stores/embedded/open-embedded.js'

/**
 * A storage adapter that reads first and saves afterwards in one of its verbs: of callers that read at the same time, all win. It is the
 * embedded store in everything else. JavaScript, because the built program loads it.
 */

const claimed = new Set()

/** @type {Record<string, (sound: any) => object>} By the verb that is not atomic: what replaces it in its collection. */
const hasty = {
  redeem: (sound) => ({
    redeem: async (id) => {
      const record = await sound.findUnused(id)
      const redemption = await sound.redeem(id)
      return record === undefined ? redemption : { outcome: 'won', record }
    },
  }),
  rotate: (sound) => ({
    rotate: async (id, rotation) => {
      const before = await sound.find(id)
      const rotated = await sound.rotate(id, rotation)
      return before?.current === rotation.presented ? { outcome: 'won', record: before } : rotated
    },
  }),
  claim: (sound) => ({
    claim: async (namespace, id, ...rest) => {
      const isNew = !claimed.has(id)
      await sound.claim(namespace, id, ...rest)
      claimed.add(id)
      return isNew
    },
  }),
  put: (sound) => ({
    put: async (id, record, options = {}) => {
      const before = await sound.find(id)
      if (options.onlyIfAbsent && before !== undefined) return false
      return sound.put(id, record, { ...options, onlyIfAbsent: false })
    },
  }),
  update: (sound) => ({
    update: async (id, decide) => {
      const { result } = decide(await sound.find(id))
      await sound.update(id, decide)
      return result
    },
  }),
  count: (sound) => ({
    update: async (namespace, id, decide) => {
      const before = await sound.update(namespace, id, (current, now) => ({ result: { current, now } }))
      const { result } = decide(before.current, before.now)
      await sound.update(namespace, id, decide)
      return result
    },
  }),
}

const kindOf = {
  redeem: 'oneTime',
  rotate: 'refreshFamilies',
  claim: 'replayGuard',
  put: 'records',
  update: 'records',
  count: 'counters',
}

export default defineStorage({
  name: 'hasty',
  apiVersion: 1,
  contract: 4,
  options: z.strictObject({ path: z.string(), verb: z.string() }),
  open: async (options, services) => {
    const { path, verb } = /** @type {{ path: string, verb: keyof typeof kindOf | 'none' }} */ (options)
    const sound = await openEmbedded({ path, ...services })
    if (verb === 'none') return sound
    const kind = kindOf[verb]
    const open = (name) => {
      const collection = sound[kind](name)
      return { ...collection, ...hasty[verb](collection) }
    }
    return { ...sound, [kind]: open }
  },
})
