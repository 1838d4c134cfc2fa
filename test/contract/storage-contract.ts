import { afterAll, beforeAll, describe } from 'vitest'
import type { Clock } from '../../core/clock.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { attemptContract } from './storage-contract-attempts.js'
import { backendContract } from './storage-contract-backend.js'
import { deviceCodeContract } from './storage-contract-device-codes.js'
import { familyContract } from './storage-contract-families.js'
import { oneTimeContract } from './storage-contract-one-time.js'
import { recordContract } from './storage-contract-records.js'
import type { Subject } from './storage-contract-subject.js'

/**
 * What every storage adapter must do. An adapter is done when this passes, and when the races between processes
 * (`races/`) show one winner in every round.
 *
 * ```ts
 * const server = await startServer()
 * storageContract('mydb', (clock) => openMyDb({ uri: server.uri, clock }))
 * ```
 *
 * `openBackend` opens the same store each time; it need not be empty. The adapter must read time from `clock` alone:
 * the suite moves it by hand and never sleeps. `test/contract/embedded.test.ts` is an example.
 */
export const storageContract = (name: string, openBackend: (clock: Clock) => Promise<StorageBackend>): void => {
  let now = Date.now()
  const clock = () => now
  let opened: StorageBackend

  const subject: Subject = {
    backend: () => opened,
    open: () => openBackend(clock),
    clock,
    pass: (seconds) => {
      now += seconds * 1000
    },
  }

  describe(`storage contract: ${name}`, () => {
    beforeAll(async () => {
      opened = await openBackend(clock)
    })
    afterAll(() => opened[Symbol.asyncDispose]())

    oneTimeContract(subject)
    familyContract(subject)
    recordContract(subject)
    attemptContract(subject)
    deviceCodeContract(subject)
    backendContract(subject)
  })
}
