import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createDeployment, type Deployment } from '../support/server/processes.js'
import { productWithDouble, withAttestation } from '../support/clients/attestation.js'
import type { Score } from '../support/load/races-http/race.js'
import { raceChallenges } from '../support/load/races-http/race-challenges.js'

// One challenge, many processes of the product on one store, all asked at once over HTTP:
// SIGNET_RACE_ROUNDS rounds among SIGNET_RACE_PROCESSES processes.

const rounds = Number(process.env['SIGNET_RACE_ROUNDS'] ?? 20)
const processes = Number(process.env['SIGNET_RACE_PROCESSES'] ?? 3)
const timeout = 120_000 + rounds * 200

type Start = NonNullable<Parameters<Deployment['start']>[0]>

const most = 1_000_000
/** The race is of one device and from one address. */
const unlimited = { address_per_minute: most, key_per_minute: most, subject_per_minute: most, principal_free: 1000 }

const race = async (
  args: Start,
  count: number,
  attempts?: number,
): Promise<{ readonly score: Score; readonly issued: readonly unknown[] }> => {
  const configure = withAttestation()
  await using deployment = await createDeployment((written) =>
    configure({ ...written, rate_limits: { attestation: unlimited } }),
  )
  // The first makes the key that all of them sign with.
  const first = await deployment.start(args)
  const others = await Promise.all(Array.from({ length: processes - 1 }, () => deployment.start(args)))
  const origins = [first, ...others].map(({ origin }) => origin)
  const score = await raceChallenges(deployment.issuer, origins, count, attempts)
  const issued = (await deployment.audit()).filter(({ event }) => event === 'attestation.issued')
  return { score, issued: issued.map(({ jti }) => jti) }
}

describe(`challenges at ${processes} processes on one store`, () => {
  it(
    `attestation row 2: ${rounds} challenges, one attestation each, and InvalidChallenge for the rest`,
    async () => {
      const { score, issued } = await race(productWithDouble, rounds)
      expect(score).toEqual({ rounds, fair: rounds, doubles: 0, withoutWinner: 0, faults: 0 })
      // One more is that with which the device renews.
      expect(issued).toHaveLength(rounds + 1)
      expect(new Set(issued).size).toBe(rounds + 1)
    },
    timeout,
  )

  it(
    'attestation row 2: one challenge, fifty at once',
    async () => {
      const { score, issued } = await race(productWithDouble, 1, Math.ceil(50 / processes))
      expect(score).toEqual({ rounds: 1, fair: 1, doubles: 0, withoutWinner: 0, faults: 0 })
      expect(issued).toHaveLength(2)
    },
    timeout,
  )

  it(
    'the same race detects a store without the atomic predicate',
    async () => {
      const broken = fileURLToPath(new URL('../support/load/races-http/broken-server.ts', import.meta.url))
      const { score } = await race((file) => ['--import', 'tsx', broken, file], 40)
      expect(score.doubles).toBeGreaterThan(0)
      expect(score.fair).toBeLessThan(40)
    },
    timeout,
  )
})
