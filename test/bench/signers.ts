/**
 * How fast the local signer signs, and how long it holds the event loop: `npx tsx test/bench/signers.ts [seconds]`.
 * Each of 64 callers asks for its next signature when it has the last one, as connections of a token endpoint do.
 */
import Table from 'cli-table3'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { JwsAlg, Signer } from '../../core/api/index.js'
import { allAlgorithms } from '../../core/keys/algorithms.js'
import local from '../../signers/local/index.js'

const callers = 64
const seconds = Number(process.argv[2] ?? 3)
const message = Buffer.alloc(600, 'x')
const never = new AbortController().signal

interface Figures {
  readonly alg: JwsAlg
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly longestTurn: number
  readonly cpuMicros: number
}

const at = (sorted: readonly number[], part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? NaN

const measure = async (signer: Signer, milliseconds: number): Promise<Figures> => {
  const latencies: number[] = []
  let longestTurn = 0
  let running = true

  const call = async (): Promise<void> => {
    while (running) {
      const asked = performance.now()
      await signer.sign(message, never)
      latencies.push(performance.now() - asked)
      // The caller's answer goes out, and its next request comes in on a later turn.
      await nextTurn()
    }
  }
  const watch = async (): Promise<void> => {
    let last = performance.now()
    while (running) {
      await pause(1)
      const now = performance.now()
      longestTurn = Math.max(longestTurn, now - last - 1)
      last = now
    }
  }

  const begun = performance.now()
  const cpu = process.cpuUsage()
  const all = Promise.all([watch(), ...Array.from({ length: callers }, call)])
  await pause(milliseconds)
  running = false
  await all
  const elapsed = performance.now() - begun
  const { user, system } = process.cpuUsage(cpu)
  latencies.sort((a, b) => a - b)
  return {
    alg: signer.alg,
    perSecond: latencies.length / (elapsed / 1000),
    p50: at(latencies, 0.5),
    p99: at(latencies, 0.99),
    longestTurn,
    cpuMicros: (user + system) / latencies.length,
  }
}

const directory = await mkdtemp(join(tmpdir(), 'signet-bench-'))
try {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const provider = await local.create({ directory, create: true }, { clock: Date.now, log })
  const table = new Table({
    head: ['alg', 'signatures/s', 'p50 ms', 'p99 ms', 'longest turn ms', 'CPU µs each'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [] },
  })
  for (const alg of allAlgorithms) {
    const signer = await provider.open(`${alg}.pem`, alg, never)
    await measure(signer, 500)
    const figures = await measure(signer, seconds * 1000)
    const numbers = [figures.p50, figures.p99, figures.longestTurn].map((value) => value.toFixed(2))
    table.push([alg, Math.round(figures.perSecond), ...numbers, Math.round(figures.cpuMicros)])
  }
  process.stdout.write(`${table.toString()}\n`)
} finally {
  await rm(directory, { recursive: true })
}
