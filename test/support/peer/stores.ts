import { startMongo, type TestMongo } from '../stores/mongo-server/start.js'
import { startTestRedis, type TestRedis } from '../stores/redis/store.js'

/** MongoDB and Redis, shared by both servers: each has a database and a prefix of its own there. */
export interface BenchStores extends AsyncDisposable {
  readonly mongodb: string
  readonly database: string
  readonly redis: string
  readonly prefix: string
}

/** Those of `MONGODB_URI` and `REDIS_URI`; else the stand-in for MongoDB and a Redis, on any core. */
export const startStores = async (): Promise<BenchStores> => {
  const mongo: TestMongo = await startMongo()
  const redis: TestRedis = await startTestRedis()
  return {
    mongodb: mongo.uri(),
    database: mongo.database,
    redis: redis.uri,
    prefix: redis.prefix,
    [Symbol.asyncDispose]: async () => {
      await mongo[Symbol.asyncDispose]()
      await redis[Symbol.asyncDispose]()
    },
  }
}
