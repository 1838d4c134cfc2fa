import { readFileSync } from 'node:fs'
import type { BareFigures } from './bare.js'
import type { Case, Collect } from './case.js'
import type { Contestant } from './contestant.js'
import type { Load, Measured } from './load.js'

export interface Options {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
}

/** Medians over the rounds. */
export interface Figures {
  readonly name: string
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** CPU time of the server's process, in microseconds. */
  readonly cpuPerRequest: number
  /** MiB after the last round. `anonymous` excludes mapped files, since the kernel may drop the embedded store's. */
  readonly resident: number
  readonly anonymous: number
  /** The highest share of its core that the load generator used. */
  readonly generatorBusy: number
  readonly requests: number
}

export interface Duel {
  readonly name: string
  readonly target: number | undefined
  readonly signet: Figures
  /** Absent when the peer has no such feature. */
  readonly peer?: Figures
  /** The figures of a loop without a service. */
  readonly bare?: BareFigures
}

const warmUpRequests = 2000

/** MiB of a process (proc(5), `status`). */
export const memory = (pid: number, field: string): number => {
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
  return Number(kib) / 1024
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? NaN
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Prepares one server's rounds. The warm-up and earlier rounds show how many one-time requests it needs. */
const challenger = (entry: Case, server: Contestant, load: Load, options: Options) => {
  const rounds: Measured[] = []
  const base = { port: server.port, pid: server.pid, connections: options.connections }
  const collect: Collect = async (requests, member) => {
    const job = { ...base, requests, repeat: false, warmMs: 0, measureMs: 600_000, collect: member }
    return (await load.run(job)).collected
  }
  let rate = 0
  return {
    rounds,
    async warmUp(): Promise<void> {
      const prepared = await entry.prepare(server, warmUpRequests, collect)
      const measureMs = Math.min(2000, 2000 * options.seconds)
      const measured = await load.run({ ...base, ...prepared, warmMs: 0, measureMs })
      rate = measured.count / measured.seconds
    },
    async round(): Promise<void> {
      const count = Math.ceil(rate * options.seconds * 1.5)
      const prepared = await entry.prepare(server, count, collect)
      const warmMs = prepared.repeat ? 300 : 0
      const measured = await load.run({ ...base, ...prepared, warmMs, measureMs: options.seconds * 1000 })
      rate = Math.max(rate, measured.count / measured.seconds)
      rounds.push(measured)
    },
    figures: (): Figures => ({
      name: server.name,
      perSecond: median(rounds.map((round) => round.count / round.seconds)),
      p50: median(rounds.map((round) => round.p50)),
      p99: median(rounds.map((round) => round.p99)),
      cpuPerRequest: (sum(rounds.map((round) => round.cpuSeconds)) * 1e6) / sum(rounds.map((round) => round.count)),
      resident: memory(server.pid, 'VmRSS'),
      anonymous: memory(server.pid, 'RssAnon'),
      generatorBusy: Math.max(...rounds.map((round) => round.busy)),
      requests: sum(rounds.map((round) => round.count)),
    }),
  }
}

/** The order is A B, B A, A B …, so that changes on the machine affect both. */
export const compete = async (
  entry: Case,
  [signet, peer]: readonly [Contestant, Contestant],
  load: Load,
  options: Options,
): Promise<Duel> => {
  const ours = challenger(entry, signet, load, options)
  const theirs = challenger(entry, peer, load, options)
  await ours.warmUp()
  await theirs.warmUp()
  for (let round = 0; round < options.rounds; round += 1) {
    for (const side of round % 2 === 0 ? [ours, theirs] : [theirs, ours]) await side.round()
  }
  return { name: entry.name, target: entry.target, signet: ours.figures(), peer: theirs.figures() }
}

/** One server alone. */
export const measure = async (entry: Case, server: Contestant, load: Load, options: Options): Promise<Figures> => {
  const alone = challenger(entry, server, load, options)
  await alone.warmUp()
  for (let round = 0; round < options.rounds; round += 1) await alone.round()
  return alone.figures()
}
