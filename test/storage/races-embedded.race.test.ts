import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { describeFairRaces, describeLostRaces } from '../support/stores/races/describe-races.js'
import { primitives } from '../support/stores/races/primitives.js'
import { openRaceTrack } from '../support/stores/races/race.js'

// What must happen once happens once, whichever process asks: SIGNET_RACE_ROUNDS rounds of each verb among
// SIGNET_RACE_PROCESSES processes. The same races must find the backend out that looks first and saves afterwards.

const verbs = Object.keys(primitives)
const directory = mkdtempSync(join(tmpdir(), 'signet-races-'))
afterAll(() => rmSync(directory, { recursive: true }))

describeFairRaces('on the embedded store', {
  verbs,
  few: 30,
  open: (processes) => openRaceTrack({ use: 'embedded', path: join(directory, 'embedded') }, processes),
})

describeLostRaces(verbs, 100, () => ({ use: 'embedded', path: join(directory, 'broken') }))
