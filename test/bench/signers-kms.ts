/**
 * How fast the KMS signer signs through the double, and how busy it keeps the event loop:
 * `npx tsx test/bench/signers-kms.ts [seconds]`. The double is another process, which on few cores takes a part of them;
 * the CPU time of one signature is this process's own.
 */
import Table from 'cli-table3'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import type { Signer } from '../../core/api/index.js'
import { kmsProvider } from '../signers/aws-kms-provider.js'

const callers = 64
const seconds = Number(process.argv[2] ?? 3)
const message = Buffer.alloc(600, 'x')
const never = new AbortController().signal

const run = async (signer: Signer, milliseconds: number): Promise<readonly number[]> => {
  const latencies: number[] = []
  const end = performance.now() + milliseconds
  const call = async (): Promise<void> => {
    for (let asked = performance.now(); asked < end; asked = performance.now()) {
      await signer.sign(message, never)
      latencies.push(performance.now() - asked)
    }
  }
  await Promise.all(Array.from({ length: callers }, call))
  return latencies.sort((a, b) => a - b)
}

const double = fork(fileURLToPath(new URL('kms-double-process.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] })
try {
  const [{ endpoint, refs }] = (await once(double, 'message')) as [{ endpoint: string; refs: Record<string, string> }]
  const provider = await kmsProvider({ endpoint }, { deadline_ms: 10_000 })
  const table = new Table({
    head: ['alg', 'signatures/s', 'p50 ms', 'p99 ms', 'event loop', 'CPU µs each'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [] },
  })
  for (const alg of ['ES256', 'RS256'] as const) {
    const signer = await provider.open(refs[alg] ?? '', alg, never)
    await run(signer, 1000)
    const [begun, loop, cpu] = [performance.now(), performance.eventLoopUtilization(), process.cpuUsage()]
    const latencies = await run(signer, seconds * 1000)
    const perSecond = latencies.length / ((performance.now() - begun) / 1000)
    const busy = performance.eventLoopUtilization(loop).utilization
    const { user, system } = process.cpuUsage(cpu)
    const [p50, p99] = [0.5, 0.99].map((part) => latencies[Math.floor((latencies.length - 1) * part)] ?? NaN)
    const each = Math.round((user + system) / latencies.length)
    table.push([alg, Math.round(perSecond), p50?.toFixed(2), p99?.toFixed(2), `${Math.round(busy * 100)} %`, each])
  }
  await provider[Symbol.asyncDispose]()
  process.stdout.write(`${table.toString()}\n`)
} finally {
  double.disconnect()
}
