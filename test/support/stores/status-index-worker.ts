import { createStatusIndexes } from '../../../core/attestation/status-list/indexes.js'
import { createListIds } from '../../../core/attestation/status-list/list-ids.js'
import { openEmbedded } from '../../../stores/embedded/open-embedded.js'

/** Gives out indexes of the lists of a store, and prints them: `path`, then how many. */
const [path = '', count = '0'] = process.argv.slice(2)
await using backend = await openEmbedded({ path, clock: Date.now })
const next = createStatusIndexes({
  lists: backend.records('status_lists'),
  ids: createListIds(backend.records('secrets')),
  clock: Date.now,
  tokenSeconds: 3600,
})
const taken = await Promise.all(Array.from({ length: Number(count) }, () => next()))
process.stdout.write(JSON.stringify(taken.map(({ list, idx }) => `${list}.${String(idx)}`)))
