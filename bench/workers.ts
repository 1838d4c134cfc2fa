import { generateKeyPairSync } from 'node:crypto'
import Table from 'cli-table3'
import { clientCredentials } from './cases.js'
import type { Options } from './compete.js'
import type { Load } from './load.js'
import { startSignet } from './signet.js'

export interface WorkersRound {
  readonly workers: number
  /** Requests a second. */
  readonly rate: number
  readonly p99: number
  /** Share of its core that the load generator used. */
  readonly generatorBusy: number
}

/**
 * Measures one worker on the first core, then two on both. The generator then shares a core, so the algorithm should
 * cost the service much and the generator little.
 */
export const measureWorkers = async (
  load: Load,
  { connections, seconds }: Options,
  logLevel: string,
): Promise<readonly WorkersRound[]> => {
  const rounds: WorkersRound[] = []
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
  for (const workers of [1, 2]) {
    await using signet = await startSignet({ alg: 'ES384', privateKey, logLevel, workers })
    const { requests } = await clientCredentials('ES384', undefined).prepare(signet, 0, () => Promise.resolve([]))
    const { port, pid } = signet
    const job = { port, pid, connections, requests, repeat: true, warmMs: 1000, measureMs: seconds * 1000 }
    const { count, seconds: took, p99, busy: generatorBusy } = await load.run(job)
    rounds.push({ workers, rate: count / took, p99, generatorBusy })
  }
  return rounds
}

export const workersTable = (rounds: readonly WorkersRound[]): string => {
  const made = new Table({
    head: ['workers, client_credentials ES384', 'requests/s', 'of one', 'p99 ms', 'generator busy'],
    colAligns: ['left', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [] },
  })
  for (const { workers, rate, p99, generatorBusy } of rounds) {
    const ofOne = rate / (rounds[0]?.rate ?? rate)
    made.push([workers, rate.toFixed(0), ofOne.toFixed(2), p99.toFixed(2), `${(100 * generatorBusy).toFixed(0)} %`])
  }
  return made.toString()
}
