import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import { defineStorage } from '../../../core/api/storage.js'
import { openEmbedded } from '../../../stores/embedded/open-embedded.js'
import { openMongodb } from '../../../stores/mongodb/open-mongodb.js'
import { openRedis } from '../../../stores/redis/open-redis.js'
import type { StorageBackend } from '../../../core/storage/ports.js'

// A storage adapter: one of the built-in stores, and a line in a file for each lifetime that it is given.

type Given = readonly unknown[]
type Verb = (...given: Given) => unknown

const options = z.strictObject({
  log: z.string(),
  embedded: z.strictObject({ path: z.string() }).optional(),
  mongodb: z.strictObject({ uri: z.string(), database: z.string() }).optional(),
  redis: z.strictObject({ uri: z.string(), key_prefix: z.string() }).optional(),
})

/** Seconds, by kind of collection and verb; undefined: for ever. */
const lifetimeOf: Readonly<Record<string, (given: Given) => number | undefined>> = {
  'oneTime.put': ([, , seconds]) => Number(seconds),
  'replayGuard.claim': ([, , seconds]) => Number(seconds),
  'refreshFamilies.start': ([, , seconds]) => Number(seconds),
  'refreshFamilies.rotate': ([, rotation]) => (rotation as { readonly idleTtlSeconds: number }).idleTtlSeconds,
  'revocations.revoke': ([, seconds]) => Number(seconds),
  'revocations.revokeBefore': ([, , seconds]) => Number(seconds),
  'deviceCodes.start': ([, , seconds]) => Number(seconds),
  'records.put': ([, , given]) => (given as { readonly ttlSeconds?: number } | undefined)?.ttlSeconds,
}

const watchCollection = (kind: string, name: string, collection: object, log: string): object =>
  Object.fromEntries(
    Object.entries(collection).map(([verb, call]: [string, Verb]) => {
      const lifetime = lifetimeOf[`${kind}.${verb}`]
      if (lifetime === undefined) return [verb, call]
      const watched: Verb = (...given) => {
        const seconds = lifetime(given)
        if (seconds !== undefined) appendFileSync(log, `${name}.${verb} ${String(seconds)}\n`)
        return call(...given)
      }
      return [verb, watched]
    }),
  )

const kinds = ['oneTime', 'records', 'replayGuard', 'refreshFamilies', 'revocations', 'deviceCodes'] as const

const watch = (backend: object, log: string): StorageBackend => {
  const watched = kinds.flatMap((kind) => {
    const open = (backend as Readonly<Record<string, ((name: string) => object) | undefined>>)[kind]
    return open === undefined ? [] : [[kind, (name: string) => watchCollection(kind, name, open(name), log)]]
  })
  return { ...backend, ...Object.fromEntries(watched) } as StorageBackend
}

export default defineStorage({
  name: 'watched-lifetimes',
  apiVersion: 1,
  contract: 4,
  options,
  open: async ({ log, embedded, mongodb, redis }, services) => {
    if (embedded) return watch(await openEmbedded({ ...embedded, ...services }), log)
    if (mongodb) return watch(await openMongodb({ ...mongodb, ...services }), log)
    if (redis) return watch(await openRedis({ ...redis, ...services }), log)
    throw new TypeError('names no store')
  },
})
