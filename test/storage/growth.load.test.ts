import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import type { Growth, Round } from '../support/stores/storage-growth-worker.js'

// F28: SIGNET_GROWTH_ENTRIES short-lived records of every kind go through one embedded store in a process of its own.

const entries = Number(process.env['SIGNET_GROWTH_ENTRIES'] ?? 20_000)
const rounds = 10
const perRound = Math.ceil(entries / rounds)
const worker = fileURLToPath(new URL('../support/stores/storage-growth-worker.ts', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'signet-growth-'))
afterAll(() => rmSync(directory, { recursive: true }))

const grow = async (growth: Omit<Growth, 'rounds'>, signal: AbortSignal): Promise<readonly Round[]> => {
  const given = JSON.stringify({ ...growth, rounds })
  const child = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', worker, given], {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  })
  const exited = once(child, 'exit')
  const results: Round[] = []
  for await (const line of createInterface({ input: child.stdout })) results.push(JSON.parse(line) as Round)
  expect((await exited)[0]).toBe(0)
  expect(results.length).toBe(rounds)
  return results
}

const mb = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1)
const report = (title: string, results: readonly Round[]) =>
  console.log(
    [
      `${title}, ${String(rounds)} rounds of ${String(perRound)}`,
      'round  admitted  refused  peak MiB  rest MiB  file MiB  RSS MiB  heap MiB',
      ...results.map(({ admitted, refused, peak, rest, file, rss, heap }, round) =>
        [round + 1, admitted, refused, ...[peak, rest, file, rss, heap].map(mb)].join('  '),
      ),
    ].join('\n'),
  )

const most = (results: readonly Round[], of: (round: Round) => number): number => Math.max(...results.map(of))

/** The second half of the rounds needs no more than the first did, and a little. */
const expectPlateau = (results: readonly Round[]): void => {
  const [first, second] = [results.slice(0, rounds / 2), results.slice(rounds / 2)]
  for (const of of [({ peak }: Round) => peak, ({ rest }: Round) => rest, ({ file }: Round) => file])
    expect(most(second, of)).toBeLessThanOrEqual(most(first, of) * 1.1 + 65_536)
  for (const of of [({ rss }: Round) => rss, ({ heap }: Round) => heap])
    expect(most(second, of)).toBeLessThan(most(first, of) * 1.25 + 8 * 1024 * 1024)
}

describe(`${String(entries)} short-lived records`, { timeout: 60_000 + entries }, () => {
  it('leave nothing behind: size and memory reach a plateau', async ({ signal }) => {
    const results = await grow({ path: join(directory, 'plateau'), maxSizeMb: 1024, perRound }, signal)
    report('no bound is met', results)
    expect(results.reduce((sum, { admitted }) => sum + admitted, 0)).toBe(rounds * perRound)
    expect(most(results, ({ wronged }) => wronged)).toBe(0)
    expect(most(results, ({ rest }) => rest)).toBeLessThan(most(results, ({ peak }) => peak) / 10)
    expectPlateau(results)
  })

  it('are refused at the bound, and put nothing out that is still good', async ({ signal }) => {
    // Half of what a round would take.
    const maxSizeMb = Math.max(1, Math.floor(perRound / 5_000))
    const results = await grow(
      { path: join(directory, 'bound'), maxSizeMb, perRound: Math.max(perRound, 8_000) },
      signal,
    )
    report(`bound of ${String(maxSizeMb)} MiB`, results)
    for (const { admitted, refused, peak, wronged } of results) {
      expect(admitted).toBeGreaterThan(100)
      expect(refused).toBeGreaterThan(100)
      expect(peak).toBeLessThan(maxSizeMb * 1024 * 1024 * 1.5)
      expect(wronged).toBe(0)
    }
    expectPlateau(results)
  })
})
