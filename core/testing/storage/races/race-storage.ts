import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openModule } from './open-module.js'
import { openRaceTrack, type RaceScore } from './race-track.js'
import { storageVerbs, type StorageVerb } from './verbs.js'

export interface StorageRace {
  /** The adapter's module, which each process imports: an absolute `file:` URL, or the name of a package. */
  readonly adapter: string
  /** As in the configuration. The adapter's schema checks them. All processes open the same store with them. */
  readonly options?: unknown
  /** Default 4. */
  readonly processes?: number
  /** Rounds per verb. Default 1000. */
  readonly rounds?: number
  /** Concurrent rounds, for a distant store. Default 1. */
  readonly abreast?: number
}

export interface RaceReport {
  /** Whether one process won each round of every verb, and the others learned that they lost. */
  readonly fair: boolean
  readonly scores: Readonly<Record<StorageVerb, RaceScore>>
}

const worker = fileURLToPath(new URL('race-worker.js', import.meta.url))

/**
 * Lets processes race for everything that may happen once: a code, a claim, a rotation, a record, a count, an
 * attempt, a device code. Uses no test framework. Throws when a process cannot open the store.
 */
export const raceStorage = async (race: StorageRace): Promise<RaceReport> => {
  const { adapter, options = null, processes = 4, rounds = 1000, abreast = 1 } = race
  await using track = await openRaceTrack({
    backend: await openModule(adapter, options ?? undefined),
    verbs: storageVerbs,
    processes,
    start: (index) => fork(worker, [adapter, JSON.stringify(options), String(index)]),
  })
  const scores: [string, RaceScore][] = []
  for (const verb of Object.keys(storageVerbs)) scores.push([verb, await track.run(verb, rounds, abreast)])
  return {
    fair: scores.every(([, score]) => score.fair === rounds && score.faults === 0),
    scores: Object.fromEntries(scores) as Record<StorageVerb, RaceScore>,
  }
}
