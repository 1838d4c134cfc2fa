import { MongoClient } from 'mongodb'
import { startMongo } from '../stores/mongo-server/start.js'
import { startRedis } from '../stores/redis/server.js'
import { shareStores } from '../stores/test-stores.js'
const dropDatabases = async (uri: string, run: string): Promise<void> => {
  const client = await MongoClient.connect(uri)
  const { databases } = await client.db().admin().listDatabases({ nameOnly: true })
  for (const { name } of databases.filter((database) => database.name.startsWith(`${run}_`)))
    await client.db(name).dropDatabase()
  await client.close()
}

/** One MongoDB and one Redis for all tests of a run; or the servers that `MONGODB_URI` and `REDIS_URI` name. */
export default async (): Promise<() => Promise<void>> => {
  const real = process.env['REDIS_URI']
  const mongodb = await startMongo()
  const redis = real === undefined ? await startRedis() : undefined
  const run = `signet_test_${process.pid.toString(36)}${Date.now().toString(36)}`
  shareStores({ mongodb: mongodb.uri(), redis: real ?? redis?.uri() ?? '', run })
  return async () => {
    if (process.env['MONGODB_URI'] !== undefined) await dropDatabases(mongodb.uri(), run)
    await redis?.[Symbol.asyncDispose]()
    await mongodb[Symbol.asyncDispose]()
  }
}
