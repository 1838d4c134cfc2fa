import { afterAll, describe, it } from 'vitest'
import type { Clock } from '../../../core/clock.js'
import type { EphemeralBackend, StorageBackend } from '../../../core/storage/ports.js'
import { storageContract as contractOf, type StorageUnderTest } from '../../../core/testing/index.js'

const testEach = (name: string, given: StorageUnderTest): void => {
  const contract = contractOf(given)
  const ports = [...new Set(contract.cases.map(({ port }) => port))]
  describe(`storage contract: ${name}`, () => {
    afterAll(() => contract[Symbol.asyncDispose]())
    describe.each(ports)('%s', (port) => {
      for (const { name: rule, run } of contract.cases.filter((one) => one.port === port)) it(rule, run)
    })
  })
}

/** Each rule of the published contract as a test. An adapter of ours is done when all pass. */
export const storageContract = (name: string, open: (clock: Clock) => Promise<StorageBackend>): void =>
  testEach(name, { open })

/** As `storageContract`, of a store that serves the ephemeral role alone. */
export const ephemeralContract = (name: string, open: (clock: Clock) => Promise<EphemeralBackend>): void =>
  testEach(name, { role: 'ephemeral', open })
