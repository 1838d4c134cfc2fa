import { afterAll, beforeAll } from 'vitest'
import { openMongodb } from '../../stores/mongodb/open-mongodb.js'
import { startMongo, type TestMongo } from '../support/stores/mongo-server/start.js'
import { describeWith } from '../support/services/describe-with.js'
import { storageContract } from '../support/stores/storage-contract.js'

describeWith('mongodb', 'MongoDB', () => {
  let server: TestMongo
  beforeAll(async () => {
    server = await startMongo()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  storageContract('mongodb', (clock) =>
    openMongodb({ uri: server.uri(), database: server.database, clock, timeoutFactor: 20 }),
  )
})
