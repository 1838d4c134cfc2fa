import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mongoMessageLength, openFaultProxy, type FaultProxy } from '../support/fault-proxy.js'
import { startMongo, type TestMongo } from '../support/mongo-server/start.js'
import { describeWith } from '../support/services/describe-with.js'
import { primitives, type PrimitiveName } from './races/primitives.js'
import { openRaceTrack, type RaceTrack } from './races/race.js'
import type { RaceStore } from './races/race-store.js'

// The races of races.test.ts on MongoDB, near and far: SIGNET_RACE_ROUNDS of each verb with each delay.

const asked = process.env.SIGNET_RACE_ROUNDS
const processes = Number(process.env.SIGNET_RACE_PROCESSES ?? 4)
const names = Object.keys(primitives) as PrimitiveName[]

/** Milliseconds that each message is late, each way; rounds of the short run; rounds abreast. */
const tracks = [
  { latencyMs: 0, few: 100, abreast: 1 },
  { latencyMs: 5, few: 50, abreast: 10 },
  { latencyMs: 50, few: 20, abreast: 20 },
] as const

describeWith('mongodb', 'MongoDB', () => {
  let server: TestMongo
  let proxy: FaultProxy
  beforeAll(async () => {
    server = await startMongo()
    proxy = await openFaultProxy({ host: server.host, port: server.port, messageLength: mongoMessageLength })
  })
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  const store = (uri: string) => ({ use: 'mongodb', uri, database: server.database }) as const satisfies RaceStore
  const near = () => store(server.uri())
  const far = () => store(server.uri(proxy.port))

  describe.each(tracks)(`races of ${processes} processes, $latencyMs ms away`, ({ latencyMs, few, abreast }) => {
    const rounds = Number(asked ?? few)
    let track: RaceTrack
    beforeAll(async () => {
      proxy.faults.latencyMs = latencyMs
      track = await openRaceTrack(far(), processes, near())
    })
    afterAll(() => track[Symbol.asyncDispose]())

    it.each(names)(
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
      proxy.faults.latencyMs = 0
      track = await openRaceTrack({ ...near(), broken: true }, processes)
    })
    afterAll(() => track[Symbol.asyncDispose]())

    it.each(names)('are lost: %s', async (name) => {
      const score = await track.run(name, few)
      expect(score.doubles).toBeGreaterThan(0)
      expect(score.fair).toBeLessThan(few)
    })
  })
})
