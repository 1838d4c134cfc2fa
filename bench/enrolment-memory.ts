import { generateKeyPairSync } from 'node:crypto'
import { completions } from './attestation-cases.js'
import type { Collect } from './case.js'
import { memory } from './compete.js'
import type { Load } from './load.js'
import { startSignet } from './signet.js'

export interface MemoryRow {
  readonly enrolments: number
  /** MiB. */
  readonly resident: number
  readonly anonymous: number
}

const batches = 10
const enrolmentsOfBatch = 20_000

/** Measures 200,000 enrolments, both requests of each, and the memory of the service's process after every 20,000. */
export const measureEnrolmentMemory = async (
  load: Load,
  connections: number,
  logLevel: string,
): Promise<readonly MemoryRow[]> => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await using server = await startSignet({ alg: 'ES256', privateKey, logLevel })
  const base = { port: server.port, pid: server.pid, connections, repeat: false, warmMs: 0, measureMs: 600_000 }
  const collect: Collect = async (requests, member) =>
    (await load.run({ ...base, requests, collect: member })).collected
  const rows: MemoryRow[] = []
  for (let batch = 1; batch <= batches; batch += 1) {
    const { requests } = await completions.prepare(server, enrolmentsOfBatch, collect)
    await load.run({ ...base, requests })
    const row = { resident: memory(server.pid, 'VmRSS'), anonymous: memory(server.pid, 'RssAnon') }
    rows.push({ enrolments: batch * enrolmentsOfBatch, ...row })
    process.stderr.write(`${batch * enrolmentsOfBatch} enrolments: ${row.resident.toFixed(0)} MiB …\n`)
  }
  return rows
}
