import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, describe, expect, it } from 'vitest'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { OneTimeStore } from '../../core/storage/ports.js'
import { Unavailable } from '../../core/unavailable.js'

const directory = mkdtempSync(join(tmpdir(), 'signet-stuck-'))
afterAll(() => rmSync(directory, { recursive: true }))
const workerFile = fileURLToPath(new URL('../support/stores/storage-stuck-worker.ts', import.meta.url))

const outcome = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error: unknown) => (error instanceof Unavailable ? error.applied : error),
  )

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const putInVain = async (codes: OneTimeStore<unknown>): Promise<WeakRef<object>> => {
  const record = { r: 'r' }
  const watched = new WeakRef(record)
  expect(await outcome(codes.put('late', record, 600))).toBe('no')
  return watched
}

describe('a process that hangs in the middle of a write', () => {
  it('holds up the writes of others for a bounded time, no reads, and nothing once it is dead', async () => {
    const path = join(directory, 'store')
    let decisions = 0
    const clock = () => {
      decisions += 1
      return Date.now()
    }
    await using backend = await openEmbedded({ path, clock })
    const codes = backend.oneTime('codes')
    await codes.put('code', 'r', 600)

    const child = spawn(process.execPath, ['--import', 'tsx', workerFile, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exit = once(child, 'exit')
    try {
      await once(child.stdout, 'data')
      // The first is on its way into the store, and the next ones still wait for it when their time is over.
      const redeemed = outcome(codes.redeem('code'))
      const pinged = outcome(backend.ping(AbortSignal.timeout(1_000)))
      const abandoned = outcome(codes.put('abandoned', 'r', 600))
      expect(await codes.find('code')).toBe('r')
      expect(await backend.revocations('revocations').isRevoked(['grant'])).toBe(false)
      await setImmediate()
      const many = Array.from({ length: 20_000 }, (_, index) => outcome(codes.put(String(index), 'r', 600)))
      const refused = await Promise.race([many.at(-1), pinged])
      expect(refused, 'what does not fit is refused at once').toBe('no')
      expect([await redeemed, await pinged, await abandoned]).toEqual(['unknown', 'unknown', 'unknown'])
      expect(new Set(await Promise.all(many))).toEqual(new Set(['no']))
      const forgotten = await putInVain(codes)
      collectGarbage()
      expect(forgotten.deref(), 'nothing is kept of who has gone').toBeUndefined()
      expect(await codes.find('code')).toBe('r')
    } finally {
      child.kill('SIGKILL')
      await exit
    }

    decisions = 0
    await codes.put('another', 'r', 600)
    expect(decisions, 'nothing is done for who has gone').toBeLessThan(100)
    // What was outstanding may have happened meanwhile, and then it has happened once.
    expect(await codes.redeem('another')).toEqual({ outcome: 'won', record: 'r' })
    expect((await codes.redeem('code')).outcome).toMatch(/won|replayed/)
    expect((await codes.redeem('code')).outcome).toBe('replayed')
    await backend.ping(new AbortController().signal)
  })
})
