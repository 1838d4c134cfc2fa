import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createDeployment } from '../support/server/processes.js'
import { openTestRecords } from '../support/stores/test-stores.js'
import { raceChanges, raceInitialAccessTokens } from '../support/load/races-http/race-registrations.js'

// One initial access token, one registration, many processes of the product on one store, all asked at once over HTTP:
// SIGNET_RACE_ROUNDS rounds among SIGNET_RACE_PROCESSES processes.

const rounds = Number(process.env['SIGNET_RACE_ROUNDS'] ?? 25)
const processes = Number(process.env['SIGNET_RACE_PROCESSES'] ?? 3)
const timeout = 120_000 + rounds * 400

describe(`registrations at ${processes} processes on one store`, () => {
  it(
    `RG01 ${rounds} initial access tokens and changes: one client each, and invalid_token for the rest`,
    async () => {
      await using deployment = await createDeployment((written) => ({
        ...written,
        trusted_proxies: ['127.0.0.1/32'],
        registration: { mode: 'initial_access_token' },
        rate_limits: { register: { address_per_minute: 1_000_000 } },
      }))
      // The first makes the key that all of them sign with.
      const first = await deployment.start()
      const others = await Promise.all(Array.from({ length: processes - 1 }, () => deployment.start()))
      await using store = await openTestRecords(join(deployment.directory, 'store'), Date.now)
      const race = { store, origins: [first, ...others].map(({ origin }) => origin) }
      const fair = { rounds, fair: rounds, doubles: 0, withoutWinner: 0, faults: 0 }
      expect(await raceInitialAccessTokens(race, rounds)).toEqual(fair)
      expect(await store.records('clients').list(undefined, rounds + 1)).toHaveLength(rounds)
      expect(await raceChanges(race, rounds)).toEqual(fair)
    },
    timeout,
  )
})
