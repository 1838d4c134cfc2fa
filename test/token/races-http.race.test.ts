import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDeployment, type Client, type Deployment } from '../support/server/processes.js'
import { raceProofs } from '../support/load/races-http/race-proofs.js'
import { raceReferences } from '../support/load/races-http/race-references.js'
import { raceCodes, raceRefreshTokens, type Race } from '../support/load/races-http/race.js'

// One code, one refresh token, many processes of the product on one store, all asked at once over HTTP:
// SIGNET_RACE_ROUNDS rounds among SIGNET_RACE_PROCESSES processes.

const rounds = Number(process.env['SIGNET_RACE_ROUNDS'] ?? 20)
const processes = Number(process.env['SIGNET_RACE_PROCESSES'] ?? 3)
const timeout = 120_000 + rounds * 200

const openRace = async (deployment: Deployment, client: Client, args?: (file: string) => readonly string[]) => {
  // The first makes the key that all of them sign with.
  const origins = [(await deployment.start(args)).origin]
  const others = await Promise.all(Array.from({ length: processes - 1 }, () => deployment.start(args)))
  origins.push(...others.map(({ origin }) => origin))
  return { client, mint: deployment.mint, origins } satisfies Race
}

describe(`races over HTTP of ${processes} processes on one store`, () => {
  let deployment: Deployment
  let race: Race
  const client = createClient()
  beforeAll(async () => {
    deployment = await createDeployment((written) => ({ ...written, trusted_proxies: ['127.0.0.1/32'] }))
    race = await openRace(deployment, client)
  })
  afterAll(async () => {
    client.close()
    await deployment[Symbol.asyncDispose]()
  })

  it(
    `CC02 ${rounds} codes: one 200 each, and invalid_grant for the rest`,
    async () => {
      const score = await raceCodes(race, rounds)
      expect(score).toEqual({ rounds, fair: rounds, doubles: 0, withoutWinner: 0, faults: 0, halfRevoked: 0 })
      const issued = (await deployment.audit()).filter(
        (line) => line['event'] === 'token.issued' && line['grant_type'] === 'authorization_code',
      )
      expect(issued).toHaveLength(rounds)
      expect(new Set(issued.map((line) => line['grant_id'])).size).toBe(rounds)
    },
    timeout,
  )

  it(
    `RT02 ${rounds} refresh tokens: one successor each, for everybody, and the family lives on`,
    async () => {
      const score = await raceRefreshTokens(race, rounds)
      expect(score).toEqual({ rounds, fair: rounds, doubles: 0, refused: 0, lost: 0, faults: 0 })
      expect((await deployment.audit()).filter(({ event }) => event === 'refresh.reused')).toEqual([])
    },
    timeout,
  )

  it(
    `PA05 ${rounds} pushed requests: one code each, and the page for the rest`,
    async () => {
      const score = await raceReferences(race, rounds)
      expect(score).toEqual({ rounds, fair: rounds, doubles: 0, withoutWinner: 0, faults: 0 })
    },
    timeout,
  )

  it(
    `DP05 ${rounds} DPoP proofs: one 200 each, and invalid_dpop_proof for the rest`,
    async () => {
      const score = await raceProofs(race, deployment.issuer, rounds)
      expect(score).toEqual({ rounds, fair: rounds, doubles: 0, withoutWinner: 0, faults: 0 })
    },
    timeout,
  )
})

describe('the same races on a store without the atomic predicate', () => {
  const few = 40
  const client = createClient()
  const broken = fileURLToPath(new URL('../support/load/races-http/broken-server.ts', import.meta.url))
  let deployment: Deployment
  let race: Race
  beforeAll(async () => {
    deployment = await createDeployment()
    race = await openRace(deployment, client, (file) => ['--import', 'tsx', broken, file])
  })
  afterAll(async () => {
    client.close()
    await deployment[Symbol.asyncDispose]()
  })

  it('find codes that were redeemed twice', async () => {
    const score = await raceCodes(race, few)
    expect(score.doubles).toBeGreaterThan(0)
    expect(score.fair).toBeLessThan(few)
  })

  it('find pushed requests with two answers', async () => {
    const score = await raceReferences(race, few)
    expect(score.doubles).toBeGreaterThan(0)
    expect(score.fair).toBeLessThan(few)
  })

  it('find proofs that passed twice', async () => {
    const score = await raceProofs(race, deployment.issuer, few)
    expect(score.doubles).toBeGreaterThan(0)
    expect(score.fair).toBeLessThan(few)
  })

  it('find refresh tokens with two successors', async () => {
    const score = await raceRefreshTokens(race, few)
    expect(score.doubles).toBeGreaterThan(0)
    expect(score.fair).toBeLessThan(few)
  })
})
