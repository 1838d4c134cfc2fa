import { openEmbedded } from '../../../stores/embedded/open-embedded.js'

// Writes without end, beside other processes, and says when it has begun.

const [path = ''] = process.argv.slice(2)
const backend = await openEmbedded({ path, clock: Date.now })
const claims = backend.replayGuard('claims')

let next = 0
const lane = async (): Promise<never> => {
  for (;;) {
    if (!(await claims.claim(String(process.pid), String(next++), 60))) throw new Error('claimed by another')
    if (next === 2_000) process.stdout.write('writing\n')
  }
}
await Promise.all(Array.from({ length: 32 }, lane))
