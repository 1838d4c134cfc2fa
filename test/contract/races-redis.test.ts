import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openFaultProxy, type FaultProxy } from '../support/fault-proxy.js'
import { startTestRedis, type TestRedis } from '../support/redis/store.js'
import { describeWith } from '../support/services/describe-with.js'
import { openRaceTrack, type RaceTrack } from './races/race.js'
import type { RaceStore } from './races/race-store.js'

// The races of races.test.ts on Redis, near and far: SIGNET_RACE_ROUNDS of each verb with each delay.

const asked = process.env.SIGNET_RACE_ROUNDS
const processes = Number(process.env.SIGNET_RACE_PROCESSES ?? 4)
const verbs = ['redeem', 'claim', 'claim what expired', 'put onlyIfAbsent', 'take an attempt'] as const

/** Milliseconds that each message is late, each way; rounds of the short run; rounds abreast. */
const tracks = [
  { latencyMs: 0, few: 200, abreast: 1 },
  { latencyMs: 5, few: 50, abreast: 10 },
  { latencyMs: 50, few: 40, abreast: 20 },
] as const

describeWith('redis', 'Redis', () => {
  let server: TestRedis
  let proxy: FaultProxy
  beforeAll(async () => {
    server = await startTestRedis()
    proxy = await openFaultProxy({ host: server.host, port: server.port })
  })
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  const store = (uri: string) => ({ use: 'redis', uri, prefix: server.prefix }) as const satisfies RaceStore
  const near = () => store(server.uri)
  const far = () => store(server.uriThrough(proxy.port))

  describe.each(tracks)(`races of ${processes} processes, $latencyMs ms away`, ({ latencyMs, few, abreast }) => {
    const rounds = Number(asked ?? few)
    let track: RaceTrack
    beforeAll(async () => {
      proxy.faults.latencyMs = latencyMs
      track = await openRaceTrack(far(), processes, near())
    })
    afterAll(() => track[Symbol.asyncDispose]())

    it.each(verbs)(
      `${rounds} rounds: one wins, the others lose: %s`,
      async (name) => {
        const score = await track.run(name, rounds, abreast)
        expect(score).toEqual({ rounds, fair: rounds, doubles: 0, withoutWinner: 0, faults: 0 })
      },
      60_000 + rounds * 200,
    )
  })

  describe(`races of ${processes} processes without the atomic predicate`, () => {
    const few = 50
    let track: RaceTrack
    beforeAll(async () => {
      track = await openRaceTrack({ ...near(), broken: true }, processes)
    })
    afterAll(() => track[Symbol.asyncDispose]())

    it.each(verbs)('are lost: %s', async (name) => {
      const score = await track.run(name, few)
      expect(score.doubles).toBeGreaterThan(0)
      expect(score.fair).toBeLessThan(few)
    })
  })
})
