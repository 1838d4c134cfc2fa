import { MongoClient } from 'mongodb'
import type { RecordStore } from '../core/storage/ports.js'

/** One record of many. */
export interface BulkRecord {
  readonly id: string
  readonly record: object
  readonly expiresAt?: number
}

/** Stores `count` records; `makes` creates the one at an index. */
export type BulkLoad = (name: string, count: number, makes: (index: number) => BulkRecord) => Promise<void>

const batch = 2000

/** Inserts into MongoDB as documents of `stores/mongodb/record-store.ts`, bypassing its work per record. */
export const bulkLoadMongodb =
  (uri: string, database: string): BulkLoad =>
  async (name, count, makes) => {
    const client = await MongoClient.connect(uri)
    const collection = client.db(database).collection<{ _id: string }>(name)
    for (let from = 0; from < count; from += batch) {
      const documents = Array.from({ length: Math.min(batch, count - from) }, (_, index) => {
        const { id, record, expiresAt } = makes(from + index)
        const expiry = expiresAt === undefined ? {} : { expireAt: new Date(expiresAt) }
        return { _id: id, v: 1, record: JSON.stringify(record), ...expiry }
      })
      await collection.insertMany(documents)
    }
    await client.close()
  }

/** Inserts through the port, with as much concurrency as the embedded store queues. */
export const bulkLoadRecords =
  (open: (name: string) => RecordStore<object>): BulkLoad =>
  async (name, count, makes) => {
    const store = open(name)
    let next = 0
    const lane = async (): Promise<void> => {
      while (next < count) {
        const { id, record, expiresAt } = makes(next++)
        const ttlSeconds = expiresAt === undefined ? undefined : Math.ceil((expiresAt - Date.now()) / 1000)
        await store.put(id, record, ttlSeconds === undefined ? {} : { ttlSeconds })
      }
    }
    await Promise.all(Array.from({ length: batch }, lane))
  }
