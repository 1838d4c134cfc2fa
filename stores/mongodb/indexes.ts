import { MongoServerError, type Db } from 'mongodb'
import { Unavailable, type StorageSchema } from '../../core/api/storage.js'
import type { Gateway } from './gateway.js'

/** Milliseconds. An index on a large collection takes time, and only the operator waits for it. */
export const buildMs = 600_000
const checkMs = 5_000

/** The index only collects; every query checks expiry. */
const wanted = { name: 'signet_expire_at', key: { expireAt: 1 }, expireAfterSeconds: 0 } as const

interface Index {
  readonly name: string
  readonly key: Readonly<Record<string, unknown>>
  readonly expireAfterSeconds?: number
}

const namespaceNotFound = 26

const list = async (db: Db, collection: string): Promise<readonly Index[]> => {
  try {
    return (await db.collection(collection).listIndexes().toArray()) as readonly Index[]
  } catch (error) {
    if (error instanceof MongoServerError && error.code === namespaceNotFound) return []
    throw error
  }
}

const isAsWanted = ({ key, expireAfterSeconds }: Index): boolean =>
  JSON.stringify(key) === JSON.stringify(wanted.key) && expireAfterSeconds === wanted.expireAfterSeconds

/** What is wrong with the indexes of a collection. */
const findFault = (indexes: readonly Index[]): 'missing' | 'different' | undefined => {
  const found = indexes.find(({ name }) => name === wanted.name)
  if (found === undefined) return 'missing'
  return isAsWanted(found) ? undefined : 'different'
}

const describe = (collection: string, fault: 'missing' | 'different'): string =>
  `the index ${wanted.name} of ${collection} is ${fault === 'missing' ? 'missing' : 'not as it should be'}`

/** Each collection has one index besides `_id`, by which MongoDB removes expired documents. */
export const createSchema = (
  { db, call, component }: Gateway,
  collections: ReadonlySet<string>,
  /** Opens the database with a separate client that waits for slow answers. */
  openPatient: () => Db,
): StorageSchema => {
  const findFaults = async () => {
    const names = [...collections].toSorted()
    const all = await call('read', () => Promise.all(names.map((name) => list(db, name))), checkMs)
    return names.flatMap((collection, index) => {
      const fault = findFault(all[index] ?? [])
      return fault === undefined ? [] : [{ collection, fault }]
    })
  }

  const check = async (): Promise<void> => {
    const faults = await findFaults()
    if (faults.length === 0) return
    const message = faults.map(({ collection, fault }) => describe(collection, fault)).join('; ')
    throw new Unavailable(component, 'no', `${message}; run signet migrate`)
  }

  return {
    check,
    migrate: async () => {
      const done: string[] = []
      const patient = openPatient()
      try {
        for (const { collection, fault } of await findFaults()) {
          const target = patient.collection(collection)
          // Nothing is collected for a moment without it, and nothing else changes.
          if (fault === 'different') await call('write', () => target.dropIndex(wanted.name), buildMs)
          const { key, ...options } = wanted
          await call('write', () => target.createIndex({ ...key }, options), buildMs)
          done.push(`${collection}: ${fault === 'missing' ? 'created' : 'recreated'} the index ${wanted.name}`)
        }
      } finally {
        await patient.client.close()
      }
      await check()
      return done
    },
  }
}
