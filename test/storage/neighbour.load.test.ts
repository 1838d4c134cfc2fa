import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'

// F24, seen from beside: the neighbour on the same store is killed, most often in the middle of a commit, and this
// process, which was idle, is the first to find LMDB's locks without their owner. SIGNET_NEIGHBOURS for more.

const neighbours = Number(process.env['SIGNET_NEIGHBOURS'] ?? 12)
const workerFile = fileURLToPath(new URL('../support/stores/storage-neighbour-worker.ts', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'signet-neighbour-'))
afterAll(() => rmSync(directory, { recursive: true }))

const liveAndDie = async (): Promise<void> => {
  const child = spawn(process.execPath, ['--import', 'tsx', workerFile, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), exit])
  // The moment of the kill is the random thing here.
  await after(randomInt(0, 10))
  child.kill('SIGKILL')
  await exit
  expect(child.signalCode, 'it wrote until it was killed').toBe('SIGKILL')
}

it(
  `writes on after each of ${neighbours} neighbours that died with kill -9`,
  async () => {
    await using backend = await openEmbedded({ path: directory, clock: Date.now })
    const claims = backend.replayGuard('claims')
    for (let died = 1; died <= neighbours; died++) {
      await liveAndDie()
      const ids = Array.from({ length: 64 }, (_, index) => `${died}-${index}`)
      const won = await Promise.all(ids.map((id) => claims.claim('survivor', id, 60)))
      expect(won, `after ${died} kills`).toEqual(ids.map(() => true))
    }
  },
  60_000 + neighbours * 5_000,
)
