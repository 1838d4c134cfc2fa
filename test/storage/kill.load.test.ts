import { spawn, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'

// Two processes consume the same records and say so; at a random moment one of them is killed. What was said to be
// consumed stays so, and the other process is not held up. SIGNET_KILL_ROUNDS for more.

const rounds = Number(process.env.SIGNET_KILL_ROUNDS ?? 4)
const count = 150
const workerFile = fileURLToPath(new URL('../support/stores/storage-kill-worker.ts', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'signet-kill-'))
afterAll(() => rmSync(directory, { recursive: true }))

const prepare = async (path: string) => {
  await using backend = await openEmbedded({ path, clock: Date.now })
  const codes = backend.oneTime('codes')
  const families = backend.refreshFamilies('families')
  const family = { grant: {}, current: 'first', absoluteExpiry: Date.now() + 3_600_000 }
  const ids = Array.from({ length: count }, (_, index) => String(index))
  await Promise.all(ids.map((id) => codes.put(id, 'code', 3600)))
  await Promise.all(ids.map((id) => families.start(id, family, 3600)))
}

interface Consumer {
  readonly child: ChildProcess
  readonly lines: string[]
  /** Resolves when its output is at its end, which may be before it has exited. */
  readonly ended: Promise<unknown>
}

/** Calls `onLine` for each report. */
const consume = (path: string, name: string, onLine: (lines: number) => void): Consumer => {
  const child = spawn(process.execPath, ['--import', 'tsx', workerFile, path, String(count), name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => {
    lines.push(line)
    onLine(lines.length)
  })
  return { child, lines, ended: Promise.all([once(child, 'exit'), once(reader, 'close')]) }
}

const check = async (path: string, reported: readonly string[]) => {
  await using backend = await openEmbedded({ path, clock: Date.now })
  expect(new Set(reported).size, 'nothing was consumed twice').toBe(reported.length)
  for (const line of reported) {
    const [verb, id = ''] = line.split(' ')
    if (verb === 'redeemed') expect((await backend.oneTime('codes').redeem(id)).outcome, line).toBe('replayed')
    if (verb === 'claimed') expect(await backend.replayGuard('claims').claim('client', id, 60), line).toBe(false)
    if (verb === 'put') expect(await backend.records('records').find(id), line).toBeDefined()
    if (verb === 'rotated') {
      const rotation = { presented: 'first', idleTtlSeconds: 60 }
      expect((await backend.refreshFamilies('families').rotate(id, rotation)).outcome, line).toBe('replayed')
    }
  }
  for (let index = 0; index < count; index += 1) {
    expect((await backend.oneTime('codes').redeem(String(index))).outcome).toMatch(/won|replayed/)
    expect((await backend.oneTime('codes').redeem(String(index))).outcome).toBe('replayed')
  }
}

describe('kill -9', () => {
  it.each(Array.from({ length: rounds }, (_, round) => round))(
    'loses nothing that was reported, alone and beside another process (%i)',
    async (round) => {
      const path = join(directory, String(round))
      await prepare(path)
      const killAt = randomInt(1, count * 3)
      const killed = consume(path, 'killed', (lines) => {
        if (lines === killAt) killed.child.kill('SIGKILL')
      })
      const others = round % 2 === 0 ? [] : [consume(path, 'other', () => {})]
      await Promise.all([killed, ...others].map(({ ended }) => ended))
      const reported = [killed, ...others].flatMap(({ lines }) => lines)
      for (const { child } of others) expect(child.exitCode).toBe(0)
      if (others.length === 0) expect(reported.length).toBeGreaterThanOrEqual(killAt)
      // The other process consumed what the killed one had left.
      else expect(reported.length).toBeGreaterThan(count * 3)
      await check(path, reported)
    },
  )
})
