import type { Filter, OptionalUnlessRequiredId, UpdateFilter, WithoutId } from 'mongodb'
import { Unavailable } from '../../core/api/storage.js'
import { isUnderstood, isUnexpired, schema, type Condition, type StoredDocument } from './document.js'
import { isDuplicate } from './failure.js'
import type { Gateway } from './gateway.js'
import { createReader } from './reader.js'

/** One collection. Each method is one round trip unless stated otherwise. */
export interface Table<D extends StoredDocument> {
  /** The adapter's clock, in milliseconds since the epoch. */
  now(): number
  /** Finds a live document. Calls in one turn of the event loop share a round trip. */
  find(id: string): Promise<D | undefined>
  /** At most `limit` documents in the order of `_id`. */
  list(condition: Condition, limit: number): Promise<readonly D[]>
  /** Stores a document if there is none, or only an expired one. False means that one exists and nothing changed. */
  insert(document: D): Promise<boolean>
  /**
   * Changes the document in one atomic step if it meets the condition, and returns the result. Members named in
   * neither `set` nor `unset` are kept.
   */
  change(condition: Condition, set: Condition, unset?: keyof D & string): Promise<D | undefined>
  /** Changes or creates the document. Repeated each time that another caller creates it at the same moment. */
  write(id: string, change: Condition): Promise<void>
  /** Returns true when there was one. */
  remove(condition: Condition): Promise<boolean>
}

const maxWrites = 5

/** `isLive` is the condition for documents that `find` may return, which have not expired. */
export const createTable = <D extends StoredDocument>(
  gateway: Gateway,
  name: string,
  isLive: (now: number) => Condition = isUnexpired,
): Table<D> => {
  const { component, now } = gateway
  const read = createReader<D>(gateway, name, isLive)
  const collection = gateway.collection<D>(name)
  const filter = (condition: Condition) => condition as Filter<D>

  const checkVersion = (document: D): D => {
    if (document.v <= schema) return document
    throw new Unavailable(component, 'no', `a document in ${name} was written by a later version`)
  }

  const replaceExpired = async ({ _id, ...document }: D): Promise<boolean> => {
    const expired = filter({ _id, expireAt: { $lte: new Date(now()) } })
    const fresh = document as unknown as WithoutId<D> & OptionalUnlessRequiredId<D>
    await collection.replaceOne(expired, fresh, { upsert: true })
    return true
  }

  const orDuplicate = async (work: Promise<unknown>): Promise<boolean> => {
    try {
      await work
      return true
    } catch (error) {
      if (isDuplicate(error)) return false
      throw error
    }
  }

  return {
    now,
    find: async (id) => {
      const found = await read(id)
      return found && checkVersion(found)
    },
    list: async (condition, limit) => {
      // MongoDB treats 0 as no limit.
      if (limit < 1) return []
      const options = { sort: { _id: 1 }, limit, batchSize: limit + 1 } as const
      const found = await gateway.call('read', () => collection.find(filter(condition), options).toArray())
      return found.map((document) => checkVersion(document as D))
    },
    insert: (document) => orDuplicate(gateway.call('write', () => replaceExpired(document))),
    change: async (condition, set, unset) => {
      const update = { $set: set, ...(unset && { $unset: { [unset]: true } }) } as unknown as UpdateFilter<D>
      const changed = await gateway.call('write', () =>
        collection.findOneAndUpdate(filter({ ...condition, ...isUnderstood }), update, { returnDocument: 'after' }),
      )
      return (changed as D | null) ?? undefined
    },
    write: async (id, change) => {
      const update = change as unknown as UpdateFilter<D>
      const upsert = () => collection.updateOne(filter({ _id: id, ...isUnderstood }), update, { upsert: true })
      for (let writes = 0; writes < maxWrites; writes++) if (await orDuplicate(gateway.call('write', upsert))) return
      throw new Unavailable(component, 'no', `a document in ${name} was written by a later version`)
    },
    remove: async (condition) => {
      const { deletedCount } = await gateway.call('write', () => collection.deleteOne(filter(condition)))
      return deletedCount > 0
    },
  }
}
