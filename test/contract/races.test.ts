import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { primitives, type PrimitiveName } from './races/primitives.js'
import { openRaceTrack, type RaceTrack } from './races/race.js'

// What must happen once happens once, whichever process asks: SIGNET_RACE_ROUNDS rounds of each verb among
// SIGNET_RACE_PROCESSES processes. The same races must find the backend out that looks first and saves afterwards.

const rounds = Number(process.env.SIGNET_RACE_ROUNDS ?? 300)
const processes = Number(process.env.SIGNET_RACE_PROCESSES ?? 4)
const timeout = 60_000 + rounds * 100
const names = Object.keys(primitives) as PrimitiveName[]

const directory = mkdtempSync(join(tmpdir(), 'signet-races-'))
afterAll(() => rmSync(directory, { recursive: true }))

describe(`races of ${processes} processes on the embedded store`, () => {
  let track: RaceTrack
  beforeAll(async () => {
    track = await openRaceTrack({ use: 'embedded', path: join(directory, 'embedded') }, processes)
  })
  afterAll(() => track[Symbol.asyncDispose]())

  it.each(names)(
    `${rounds} rounds: one wins, the others lose: %s`,
    async (name) => {
      const score = await track.run(name, rounds)
      expect(score).toEqual({ rounds, fair: rounds, doubles: 0, withoutWinner: 0, faults: 0 })
    },
    timeout,
  )
})

describe(`races of ${processes} processes on a backend without the atomic predicate`, () => {
  const few = 100
  let track: RaceTrack
  beforeAll(async () => {
    track = await openRaceTrack({ use: 'embedded', path: join(directory, 'broken'), broken: true }, processes)
  })
  afterAll(() => track[Symbol.asyncDispose]())

  it.each(names)(`are lost: %s`, async (name) => {
    const score = await track.run(name, few)
    expect(score.doubles).toBeGreaterThan(0)
    expect(score.fair).toBeLessThan(few)
  })
})
