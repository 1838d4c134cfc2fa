import { afterAll, beforeAll } from 'vitest'
import { describeWith } from '../support/services/describe-with.js'
import { startTestRedis, type TestRedis } from '../support/stores/redis/store.js'
import { ephemeralContract } from '../support/stores/storage-contract.js'

describeWith('redis', 'Redis', () => {
  let server: TestRedis
  beforeAll(async () => {
    server = await startTestRedis()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  ephemeralContract('redis', (clock) => server.open(clock))
})
