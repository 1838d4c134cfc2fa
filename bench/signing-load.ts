import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Signer } from '../core/api/signer.js'

export interface SigningFigures {
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Share of the time that the event loop of this process was busy, from 0 to 1. */
  readonly busy: number
  /** CPU time of this process with all its threads, in microseconds per signature. */
  readonly cpuMicros: number
}

const message = Buffer.alloc(600, 'x')
const never = new AbortController().signal
const warmMs = 700

const at = (sorted: readonly number[], part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? NaN

const run = async (signer: Signer, callers: number, milliseconds: number): Promise<SigningFigures> => {
  const latencies: number[] = []
  let running = true
  const call = async (): Promise<void> => {
    while (running) {
      const asked = performance.now()
      await signer.sign(message, never)
      latencies.push(performance.now() - asked)
      // In a service the answer is sent here, and the next request arrives in a later turn.
      await nextTurn()
    }
  }
  const begun = performance.now()
  const [loop, cpu] = [performance.eventLoopUtilization(), process.cpuUsage()]
  const all = Promise.all(Array.from({ length: callers }, call))
  await pause(milliseconds)
  const { utilization: busy } = performance.eventLoopUtilization(loop)
  const { user, system } = process.cpuUsage(cpu)
  const made = latencies.length
  const perSecond = made / ((performance.now() - begun) / 1000)
  running = false
  await all
  latencies.sort((a, b) => a - b)
  return { perSecond, p50: at(latencies, 0.5), p99: at(latencies, 0.99), busy, cpuMicros: (user + system) / made }
}

/** Each caller requests its next signature when it has the last one, as connections of a token endpoint do. */
export const measureSigning = async (
  signer: Signer,
  callers: number,
  milliseconds: number,
): Promise<SigningFigures> => {
  await run(signer, callers, warmMs)
  return run(signer, callers, milliseconds)
}
