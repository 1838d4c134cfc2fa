import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { cases, storeCases } from './cases.js'
import type { Duel } from './compete.js'
import { findService, howToGet } from '../test/support/services/table.js'
import { duel, profile, servicesOf } from './duel.js'
import { measureEnrolmentMemory } from './enrolment-memory.js'
import { Load } from './load.js'
import { memoryTable, signersTable, slowSignerTable, table } from './report.js'
import { measureSigners } from './signers.js'
import { measureSlowSigner } from './slow-signer.js'
import { measureWorkers, workersTable } from './workers.js'

/**
 * Compares Signet and oidc-provider: each server on the first core, the load generator on the second, in alternating
 * rounds, on loopback; then each signer alone with each algorithm, whether a slow signer delays the others, and the
 * service's memory over 200,000 enrolments. The machine should be otherwise idle.
 */
const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '' },
    skip: { type: 'string', default: '' },
    stores: { type: 'string', default: 'embedded' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '32' },
    'log-level': { type: 'string', default: 'info' },
    json: { type: 'string', default: './data/bench.json' },
    workers: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

/**
 * Measured besides the comparisons: every backend with every algorithm, a slow signer next to a quick one, and the
 * memory that many enrolments leave.
 */
const ofSigners = ['signers', 'slow signer', 'enrolment memory'] as const

if (values.help) {
  console.log(`npm run bench -- [--stores embedded|mongodb+redis] [--cases NAME,…] [--skip NAME,…] [--rounds N] [--seconds N] [--connections N] [--log-level info|warn] [--json FILE] [--workers] [--profile]
cases (a part of the name will do; all, if none is named): ${[...cases.map(({ name }) => name), ...ofSigners].join(', ')}
cases with --stores mongodb+redis: ${storeCases.map(({ name }) => name).join('; ')}`)
  process.exit(0)
}

const bounded = (name: 'rounds' | 'connections', max: number): number => {
  const value = Number(values[name])
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new Error(`--${name} is a whole number from 1 to ${max}`)
  return value
}
const seconds = Number(values.seconds)
if (!(seconds >= 0.2 && seconds <= 60)) throw new Error('--seconds is a number from 0.2 to 60')
const options = { rounds: bounded('rounds', 20), seconds, connections: bounded('connections', 512) }

const parts = (names: string): readonly string[] => names.split(',').filter(Boolean)
const [wanted, skipped] = [parts(values.cases), parts(values.skip)]
const isWanted = (name: string): boolean =>
  (wanted.length === 0 || wanted.some((part) => name.includes(part))) && !skipped.some((part) => name.includes(part))
if (values.stores !== 'embedded' && values.stores !== 'mongodb+redis')
  throw new Error('--stores is embedded or mongodb+redis')
const onServers = values.stores === 'mongodb+redis'
const chosen = (onServers ? storeCases : cases).filter(({ name }) => isWanted(name))
const withSigners = onServers ? [] : ofSigners.filter(isWanted)
if (!values.workers && chosen.length === 0 && withSigners.length === 0)
  throw new Error(`No case is called ${values.cases}: see --help`)
const logLevel = values['log-level']

/** Written after each case, so that an early end loses only one. */
const results: Record<string, unknown> = {
  machine: { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, loadAverage: loadavg() },
  options,
}
mkdirSync(dirname(values.json), { recursive: true })
const keep = (name: string, result: unknown): void => {
  results[name] = result
  writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`)
}

const runnable = chosen.filter((entry) => {
  const missing = servicesOf(entry).find((name) => findService(name) === undefined)
  if (missing !== undefined) console.error(`SKIPPED ${entry.name}: ${howToGet(missing)}`)
  return missing === undefined
})

await using load = await Load.start()
const duels: Duel[] = []
for (const entry of runnable) {
  process.stderr.write(`${entry.name} …\n`)
  duels.push(await duel(entry, load, options, logLevel))
  keep('duels', duels)
}
if (duels.length > 0) console.log(table(duels))

if (withSigners.includes('signers')) {
  const signers = await measureSigners(seconds)
  keep('signers', signers)
  console.log(signersTable(signers))
}
if (withSigners.includes('slow signer')) {
  const slowSigner = await measureSlowSigner(load, options)
  keep('slowSigner', slowSigner)
  console.log(slowSignerTable(slowSigner))
}
if (withSigners.includes('enrolment memory')) {
  const memory = await measureEnrolmentMemory(load, options.connections, logLevel)
  keep('memory', memory)
  console.log(memoryTable(memory))
}
if (values.workers) {
  const workers = await measureWorkers(load, options, logLevel)
  keep('workers', workers)
  console.log(workersTable(workers))
}

if (values.profile) {
  for (const entry of runnable) {
    const where = await profile(entry, load, options, logLevel)
    console.log(`\n${entry.name}: where Signet's main thread spends its time\n${where}`)
  }
}
console.log(`Also in ${values.json}`)
