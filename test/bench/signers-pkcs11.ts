/**
 * How fast the PKCS#11 signer signs through SoftHSM, how busy it keeps the event loop of the service, and what the
 * library alone does in a loop: `npx tsx test/bench/signers-pkcs11.ts [--seconds N] [--sessions N] [--algs ES256,…]`
 * after `npm run build`. Each of 256 callers asks for its next signature when it has the last one.
 */
import Table from 'cli-table3'
import { spawnSync } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { JwsAlg, Signer } from '../../core/api/index.js'
import { allAlgorithms, isJwsAlg } from '../../core/keys/algorithms.js'
import { makeToken, openProvider } from '../support/softhsm/token.js'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    sessions: { type: 'string', default: '4' },
    callers: { type: 'string', default: '256' },
    algs: { type: 'string', default: allAlgorithms.join() },
  },
})
const seconds = Number(values.seconds)
const callers = Number(values.callers)
const message = Buffer.alloc(600, 'x')
const never = new AbortController().signal

interface Figures {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** Of the parent's event loop, from 0 to 1. */
  readonly busy: number
}

const at = (sorted: readonly number[], part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? NaN

const measure = async (signer: Signer, milliseconds: number): Promise<Figures> => {
  const latencies: number[] = []
  let running = true
  const call = async (): Promise<void> => {
    while (running) {
      const asked = performance.now()
      await signer.sign(message, never)
      latencies.push(performance.now() - asked)
      await nextTurn()
    }
  }
  const begun = performance.now()
  const before = performance.eventLoopUtilization()
  const all = Promise.all(Array.from({ length: callers }, call))
  await pause(milliseconds)
  const { utilization } = performance.eventLoopUtilization(before)
  const perSecond = latencies.length / ((performance.now() - begun) / 1000)
  running = false
  await all
  latencies.sort((a, b) => a - b)
  return { perSecond, p50: at(latencies, 0.5), p99: at(latencies, 0.99), busy: utilization }
}

/** In a process of its own, without a service around it. */
const raw = (ref: string, alg: JwsAlg): number => {
  const file = fileURLToPath(new URL('pkcs11-raw.cjs', import.meta.url))
  const label = decodeURIComponent(/object=([^;]+)/.exec(ref)?.[1] ?? '')
  const run = spawnSync(process.execPath, [file, token.module, token.label, label, alg, values.seconds], {
    encoding: 'utf8',
    input: token.pin,
    env: { ...process.env, ...token.environment },
  })
  if (run.status !== 0) throw new Error(run.stderr)
  return Number(run.stdout)
}

await using token = await makeToken()
await using provider = await openProvider(token, { sessions: Number(values.sessions) })
const table = new Table({
  head: ['alg', 'signatures/s', 'of the library', 'p50 ms', 'p99 ms', 'event loop busy', 'library alone/s'],
  colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'right'],
  style: { head: [], border: [] },
})
for (const alg of values.algs.split(',').filter(isJwsAlg)) {
  const ref = (await provider.create?.(`bench-${alg}`, alg, never)) ?? ''
  const signer = await provider.open(ref, alg, never)
  await measure(signer, 700)
  const { perSecond, p50, p99, busy } = await measure(signer, seconds * 1000)
  const alone = raw(ref, alg)
  const percent = (part: number): string => `${Math.round(part * 100)} %`
  table.push([
    alg,
    Math.round(perSecond),
    percent(perSecond / alone),
    p50.toFixed(2),
    p99.toFixed(2),
    percent(busy),
    Math.round(alone),
  ])
}
process.stdout.write(`${table.toString()}\n`)
