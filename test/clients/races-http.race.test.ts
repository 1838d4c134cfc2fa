import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createClient, createDeployment } from '../support/server/processes.js'
import { signingClient } from '../support/clients/signing-client.js'
import { raceAssertions, type AssertionRace } from '../support/load/races-http/race-assertions.js'

// One client assertion, many processes of the product on one store, all asked at once over HTTP:
// SIGNET_RACE_ROUNDS rounds among SIGNET_RACE_PROCESSES processes.

const rounds = Number(process.env['SIGNET_RACE_ROUNDS'] ?? 20)
const processes = Number(process.env['SIGNET_RACE_PROCESSES'] ?? 3)
const timeout = 120_000 + rounds * 200

const withRace = async <T>(
  args: ((file: string) => readonly string[]) | undefined,
  run: (race: AssertionRace) => Promise<T>,
): Promise<T> => {
  await using deployment = await createDeployment((written) => ({ ...written, clients: [signingClient] }))
  // The first makes the key that all of them sign with.
  const first = await deployment.start(args)
  const others = await Promise.all(Array.from({ length: processes - 1 }, () => deployment.start(args)))
  const client = createClient()
  try {
    return await run({ client, issuer: deployment.issuer, origins: [first, ...others].map(({ origin }) => origin) })
  } finally {
    client.close()
  }
}

describe(`client assertions at ${processes} processes on one store`, () => {
  it(
    `CA09 ${rounds} assertions: one 200 each, and invalid_client for the rest`,
    async () => {
      const score = await withRace(undefined, (race) => raceAssertions(race, rounds))
      expect(score).toEqual({ rounds, fair: rounds, doubles: 0, withoutWinner: 0, faults: 0 })
    },
    timeout,
  )

  it(
    'CA09 the same race finds a store without the atomic predicate out',
    async () => {
      const broken = fileURLToPath(new URL('../support/load/races-http/broken-server.ts', import.meta.url))
      const score = await withRace(
        (file) => ['--import', 'tsx', broken, file],
        (race) => raceAssertions(race, 40),
      )
      expect(score.doubles).toBeGreaterThan(0)
      expect(score.fair).toBeLessThan(40)
    },
    timeout,
  )
})
