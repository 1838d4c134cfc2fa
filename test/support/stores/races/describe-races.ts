import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { disposeAfterAll } from '../../dispose-after-all.js'
import type { FaultProxy } from '../fault-proxy.js'
import { openRaceTrack, type RaceTrack } from './race.js'
import type { RaceStore } from './race-store.js'

const asked = process.env.SIGNET_RACE_ROUNDS
const processes = Number(process.env.SIGNET_RACE_PROCESSES ?? 4)

/** Rounds in which the store was late are run again, in so many runs at most. */
const mostRuns = 5

export interface FairRaces {
  readonly verbs: readonly string[]
  /** Rounds of each verb, where SIGNET_RACE_ROUNDS asks for no other number. */
  readonly few: number
  /** Rounds that run at once; default 1. */
  readonly abreast?: number
  /** Of so many processes. */
  readonly open: (processes: number) => Promise<RaceTrack>
}

/** What must happen once happens once, whichever process asks. */
export const describeFairRaces = (where: string, { verbs, few, abreast, open }: FairRaces): void => {
  const rounds = Number(asked ?? few)
  describe(`races of ${processes} processes ${where}`, () => {
    let track: RaceTrack
    beforeAll(async () => {
      track = await open(processes)
    })
    afterAll(() => track[Symbol.asyncDispose]())

    it.each(verbs)(
      `${rounds} rounds: one wins, the others lose: %s`,
      async (name) => {
        let fair = 0
        for (let run = 0; fair < rounds && run < mostRuns; run++) {
          const score = await track.run(name, rounds - fair, abreast)
          fair += score.fair
          expect(score.doubles).toBe(0)
          // On a busy machine the store may be late, and then nobody knows who won.
          expect(score.fair + score.faults).toBe(score.rounds)
        }
        expect(fair).toBe(rounds)
      },
      60_000 + rounds * 200,
    )
  })
}

/** The same races must find a backend out that looks first and saves afterwards. */
export const describeLostRaces = (verbs: readonly string[], few: number, store: () => RaceStore): void => {
  describe(`races of ${processes} processes without the atomic predicate`, () => {
    let track: RaceTrack
    beforeAll(async () => {
      track = await openRaceTrack({ ...store(), broken: true }, processes)
    })
    afterAll(() => track[Symbol.asyncDispose]())

    it.each(verbs)('are lost: %s', async (name) => {
      const score = await track.run(name, few)
      expect(score.doubles).toBeGreaterThan(0)
      expect(score.fair).toBeLessThan(few)
    })
  })
}

export interface RaceCourse {
  readonly near: RaceStore
  /** The same store by way of the proxy. */
  readonly far: RaceStore
  readonly proxy: FaultProxy
}

export interface NearAndFar {
  readonly verbs: readonly string[]
  /** Rounds of the short run with each delay. */
  readonly few: readonly [number, number, number]
  /** What it starts it hands to `keep`. */
  readonly open: (keep: ReturnType<typeof disposeAfterAll>) => Promise<RaceCourse>
}

/** Races on the store of a server: near and far, fair, and without the atomic predicate. */
export const describeRacesNearAndFar = ({ verbs, few, open }: NearAndFar): void => {
  const keep = disposeAfterAll()
  let course: RaceCourse
  beforeAll(async () => {
    course = await open(keep)
  })

  // Milliseconds that each message is late, each way; rounds abreast.
  const delays = [
    [0, 1],
    [5, 10],
    [50, 20],
  ] as const
  for (const [index, [latencyMs, abreast]] of delays.entries())
    describeFairRaces(`${latencyMs} ms away`, {
      verbs,
      few: few[index]!,
      abreast,
      open: (count) => {
        course.proxy.faults.latencyMs = latencyMs
        return openRaceTrack(course.far, count, course.near)
      },
    })

  describeLostRaces(verbs, 50, () => course.near)
}
