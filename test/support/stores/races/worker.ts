import { runRaces } from '../../../../core/testing/storage/races/race-runner.js'
import { primitives } from './primitives.js'
import { openRaceStore, type RaceStore } from './race-store.js'

const [store = '', index] = process.argv.slice(2)
runRaces(await openRaceStore(JSON.parse(store) as RaceStore), primitives, Number(index))
