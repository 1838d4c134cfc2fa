import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openRaceTrack as openTrack, type RaceTrack } from '../../../../core/testing/storage/races/race-track.js'
import { primitives } from './primitives.js'
import { openRaceStore, type RaceStore } from './race-store.js'

export type { RaceTrack } from '../../../../core/testing/storage/races/race-track.js'

const workerFile = fileURLToPath(new URL('worker.ts', import.meta.url))

/** Starts the processes on one store. They may reach it another way than the preparation of the rounds. */
export const openRaceTrack = async (store: RaceStore, processes: number, prepareOn = store): Promise<RaceTrack> =>
  openTrack({
    backend: await openRaceStore(prepareOn),
    verbs: primitives,
    processes,
    start: (index) => fork(workerFile, [JSON.stringify(store), String(index)], { execArgv: ['--import', 'tsx'] }),
  })
