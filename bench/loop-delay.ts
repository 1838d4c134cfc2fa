import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { stringify } from 'yaml'
import { packageRoot } from '../core/package-root.js'
import { openEmbedded } from '../stores/embedded/open-embedded.js'
import { clients } from '../test/support/clients/clients.js'
import { gatherSeeds } from '../test/support/forge/fuzz-seeds.js'
import type { Fuzzed } from '../test/support/forge/fuzzed-requests.js'
import { createMint } from '../test/support/forge/mint.js'
import { withDevices } from '../test/support/clients/device.js'
import { freePort } from '../test/support/free-port.js'
import { testConfiguration } from '../test/support/server/server.js'
import { hostileConnections } from './hostile-connections.js'
import { hostilities } from './hostile-requests.js'
import { receive, startPinned, stop } from '../test/support/peer/pinned.js'

// F27: measures how long hostile requests block the product's event loop, kind by kind, twice: the first time
// includes code that was never run. Linux only.

const usage = `npm run bench:loop -- [--seconds 5] [--abreast 1] [--only part-of-a-name]`
const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    concurrency: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const milliseconds = Number(options.seconds) * 1000
const concurrency = Number(options.concurrency)
if (!(milliseconds > 0) || !(concurrency > 0)) throw new Error(usage)

/** The report of loop-probe.js, in milliseconds. */
interface Probed {
  readonly late: Float32Array
  readonly ran: Float32Array
  readonly collections: readonly number[]
}

/** One attack: resolves when it is over. */
type Attack = (turn: number) => Promise<void>

const directory = mkdtempSync(join(tmpdir(), 'signet-loop-'))
const port = await freePort()
const issuer = `http://127.0.0.1:${String(port)}`

/** Attacks must not be rate-limited, although all come from one address. */
const unlimited = { address_per_minute: 100_000_000, client_per_minute: 100_000_000 }
const most = 1_000_000

const writeConfiguration = (): string => {
  const file = join(directory, 'signet.yaml')
  const written = withDevices({ ...testConfiguration(directory, port), clients })
  const more = [
    { use: 'plugins/grants/token-exchange' },
    { use: 'plugins/attestation/bootstrap' },
    { use: 'plugins/attestation/registry' },
  ]
  const configuration = {
    ...written,
    plugins: [...(written['plugins'] as object[]), ...more],
    attestation: {},
    token_exchange_enabled: true,
    rate_limits: {
      token: unlimited,
      introspect: unlimited,
      authorize: { address_per_minute: unlimited.address_per_minute, address_open: 1_000_000 },
      attestation: { address_per_minute: most, key_per_minute: most, subject_per_minute: most },
    },
  }
  writeFileSync(file, stringify(configuration))
  return file
}

const agent = new Agent({ keepAlive: true, maxSockets: concurrency })
const send = ({ method, target, headers, body }: Fuzzed): Promise<void> =>
  new Promise((resolve) => {
    const bytes = Buffer.from(body, 'latin1')
    const length = bytes.length === 0 ? {} : { 'content-length': bytes.length }
    const sent = request({ host: '127.0.0.1', port, method, path: target, agent, headers: { ...headers, ...length } })
    // A refusal before the request was read ends with a reset.
    sent.on('error', () => undefined)
    sent.on('response', (response) => response.on('error', () => undefined).resume())
    sent.on('close', resolve)
    sent.end(bytes)
  })

/** Runs parallel lanes of attacks for the time given. Returns the number of attacks. */
const repeat = async (attack: Attack): Promise<number> => {
  const end = performance.now() + milliseconds
  let turn = 0
  const lane = async () => {
    while (performance.now() < end) await attack(turn++)
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
  return turn
}

const rowOf = (name: string, attacks: number, probed: readonly Probed[]): (string | number)[] => {
  const inOrder = (of: 'late' | 'ran') => Float32Array.from(probed.flatMap((one) => [...one[of]])).toSorted()
  const at = (sorted: Float32Array, share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
  const [late, ran] = [inOrder('late'), inOrder('ran')]
  const longest = probed.reduce((most, { collections }) => Math.max(most, ...collections), 0)
  const figures = [at(late, 0.5), at(late, 0.99), at(late, 1), at(ran, 0.99), at(ran, 1), longest]
  return [name, attacks, ...figures.map((figure) => figure.toFixed(1)), ran.filter((own) => own > 10).length]
}

const head = ['Attack', 'attacks', 'late p50', 'late p99', 'late max', 'own p99', 'own max', 'gc max', 'own > 10 ms']
const probe = fileURLToPath(new URL('loop-probe.js', import.meta.url))
const main = join(packageRoot, 'dist/core/main.js')
const log = openSync(join(directory, 'signet.log'), 'a')
const child = startPinned('0,1', ['--import', probe, main, 'start', '--config', writeConfiguration()], log)
const probed = async (): Promise<Probed> => {
  child.send('report')
  return (await receive(child)) as Probed
}
const isServing = () =>
  fetch(`${issuer}/jwks.json`).then(
    ({ ok }) => ok,
    () => false,
  )

try {
  while (!(await isServing())) if (child.exitCode !== null) throw new Error('Signet did not start')
  await using store = await openEmbedded({ path: join(directory, 'store'), clock: Date.now })
  const attacks: (readonly [name: string, attack: Attack])[] = []
  for (const { name, next } of hostilities(issuer, await gatherSeeds(issuer, createMint(store))))
    attacks.push([name, (turn) => send(next(turn))])
  for (const { name, attack } of hostileConnections) attacks.push([name, () => attack(port)])
  await probed()
  for (const round of ['first', 'second']) {
    const table = new Table({ head, style: { head: [], border: [] } })
    const reports: Probed[] = []
    let all = 0
    for (const [name, attack] of attacks) {
      if (!name.includes(options.only)) continue
      const count = await repeat(attack)
      const report = await probed()
      table.push(rowOf(name, count, [report]))
      reports.push(report)
      all += count
    }
    table.push(rowOf('all of it', all, reports))
    console.log(`\nThe ${round} time, milliseconds, ${String(concurrency)} abreast\n${table.toString()}`)
  }
} finally {
  agent.destroy()
  await stop(child)
  rmSync(directory, { recursive: true, force: true })
}
