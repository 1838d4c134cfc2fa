import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { packageRoot } from '../../core/package-root.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { freePort } from '../support/free-port.js'
import { serviceClient, testConfiguration } from '../support/server/server.js'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basic } from '../support/clients/clients.js'
import { gatherSeeds, type FuzzSeeds } from '../support/forge/fuzz-seeds.js'
import { fuzzedRequests, type Fuzzed } from '../support/forge/fuzzed-requests.js'
import { createMint } from '../support/forge/mint.js'

// SIGNET_FUZZ_RUNS requests of any kind, SIGNET_FUZZ_MINUTES at most, at the product in a process of its own, with traces
// on: what it answers, what it remembers of it in memory, and what it reports of it in logs, metrics and spans.

const runs = Number(process.env['SIGNET_FUZZ_RUNS'] ?? 2000)
const minutes = Number(process.env['SIGNET_FUZZ_MINUTES'] ?? 60)
const seed = Number(process.env['SIGNET_FUZZ_SEED'] ?? Date.now() % 1e9)
/** Requests under way at once. */
const abreast = 8
const batch = 500

interface Served {
  readonly process: ChildProcess
  readonly issuer: string
  readonly admin: string
  readonly directory: string
}

describe(`${String(runs)} requests of any kind at a process, seed ${String(seed)}`, () => {
  let served: Served
  let seeds: FuzzSeeds
  let store: Awaited<ReturnType<typeof openEmbedded>>
  const agent = new Agent({ keepAlive: true, maxSockets: abreast })
  const output = { lines: 0, spans: 0, errors: [] as string[], leaks: [] as string[] }
  /** Once they are known: those of the seeds. */
  let secrets: readonly string[] = []

  const read = (line: string): void => {
    output.lines++
    if (line.startsWith('{"span"')) output.spans++
    else if (/"level":(?:50|60|"error"|"fatal")/.test(line)) output.errors.push(line)
    const leaked = secrets.find((secret) => line.includes(secret))
    if (leaked !== undefined) output.leaks.push(`${leaked}: ${line}`)
  }

  const start = async (): Promise<Served> => {
    const directory = await mkdtemp(join(tmpdir(), 'signet-fuzz-'))
    const [port, adminPort] = [await freePort(), await freePort()]
    const written = { ...testConfiguration(directory, port), admin: { host: '127.0.0.1', port: adminPort } }
    const file = join(directory, 'signet.yaml')
    await writeFile(file, stringify(written))
    const spans = fileURLToPath(new URL('../support/forge/print-spans.js', import.meta.url))
    const main = join(packageRoot, 'dist/core/main.js')
    const child = spawn(process.execPath, ['--import', spans, main, 'start', '--config', file], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_ENV: 'production' },
    })
    const started = new Promise<void>((resolve, reject) => {
      child.once('exit', () => reject(new Error(`the server ended: ${output.errors.join('\n')}`)))
      for (const stream of [child.stdout, child.stderr] as Readable[])
        createInterface({ input: stream }).on('line', (line) => {
          read(line)
          if (line.includes('"started"')) resolve()
        })
    })
    await started
    return {
      process: child,
      issuer: `http://127.0.0.1:${String(port)}`,
      admin: `http://127.0.0.1:${String(adminPort)}`,
      directory,
    }
  }

  beforeAll(async () => {
    served = await start()
    store = await openEmbedded({ path: join(served.directory, 'store'), clock: Date.now })
    seeds = await gatherSeeds(served.issuer, createMint(store))
    secrets = seeds.secrets
  }, 60_000)
  afterAll(async () => {
    agent.destroy()
    served.process.removeAllListeners('exit')
    const exited = once(served.process, 'exit')
    served.process.kill('SIGKILL')
    await exited
    await store[Symbol.asyncDispose]()
    await rm(served.directory, { recursive: true, force: true })
  })

  const send = ({ method, target, headers, body }: Fuzzed) =>
    new Promise<{ status: number; text: string; isShed: boolean }>((resolve, reject) => {
      const { hostname, port } = new URL(served.issuer)
      const bytes = Buffer.from(body, 'latin1')
      const length = bytes.length === 0 ? {} : { 'content-length': bytes.length }
      const sent = request(
        { hostname, port, method, path: target, agent, headers: { ...headers, ...length } },
        (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
          response.on('end', () => {
            const isShed = response.statusCode === 503 && response.headers['retry-after'] !== undefined
            resolve({ status: response.statusCode ?? 0, text, isShed })
          })
          response.on('error', reject)
        },
      )
      sent.on('error', reject)
      sent.end(bytes)
    })

  const residentMiB = (): number => {
    const status = readFileSync(`/proc/${String(served.process.pid)}/status`, 'latin1')
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)
  }
  const metrics = async (): Promise<string> => (await fetch(`${served.admin}/metrics`)).text()
  /** Milliseconds that the event loop was late since the metrics were last read: half of the time, 99 % of it, at worst. */
  const lagOf = (text: string): number[] =>
    ['0.5', '0.99', '1'].map((quantile) => {
      const [, seconds] =
        new RegExp(`^signet_event_loop_lag_seconds.quantile="${quantile}". (.*)$`, 'm').exec(text) ?? []
      return Math.round(Number(seconds) * 10_000) / 10
    })
  const seriesOf = (text: string): number => text.split('\n').filter((line) => line !== '' && line[0] !== '#').length

  it(
    'no 5xx, nothing disclosed of the inside, memory and metrics that do not grow, no secret in logs, metrics and spans',
    async () => {
      const arbitrary = fuzzedRequests(seeds)
      const statuses = new Map<number, number>()
      const faults: string[] = []
      const memory: number[] = []
      const end = Date.now() + minutes * 60_000
      let [sent, shed] = [0, 0]
      const one = async (input: Fuzzed): Promise<void> => {
        const { status, text, isShed } = await send(input)
        sent++
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (isShed) shed++
        const isBad = status < 200 || (status >= 500 && !isShed)
        if (isBad || /node_modules|\.[jt]s:\d+:\d+|node:internal/.test(text))
          faults.push(`${String(status)} ${text.slice(0, 300)} to ${JSON.stringify(input)}`)
      }
      let quarter = 0
      let series = 0
      const lag: number[][] = []
      const note = async () => {
        memory.push(residentMiB())
        const text = await metrics()
        series = Math.max(series, seriesOf(text))
        lag.push(lagOf(text))
      }
      for (let round = 0; sent < runs && Date.now() < end && faults.length === 0; round++) {
        const inputs = fc.sample(arbitrary, { numRuns: Math.min(batch, runs - sent), seed: seed + round })
        let next = 0
        const lane = async () => {
          for (let input = inputs[next++]; input !== undefined; input = inputs[next++]) await one(input)
        }
        await Promise.all(Array.from({ length: abreast }, lane))
        const share = Math.max(sent / runs, 1 - (end - Date.now()) / (minutes * 60_000))
        if (share < (quarter + 1) / 4) continue
        quarter++
        await note()
      }
      const figures = {
        sent,
        shed,
        statuses: Object.fromEntries([...statuses].sort(([a], [b]) => a - b)),
        memory,
        lag,
        series,
      }
      console.log(JSON.stringify({ ...figures, lines: output.lines, spans: output.spans }))

      expect(faults).toEqual([])
      expect(output.errors).toEqual([])
      for (const status of [200, 303, 400, 401, 404, 405]) expect([...statuses.keys()]).toContain(status)
      const good = await send({
        method: 'POST',
        target: '/token',
        headers: { authorization: basic(serviceClient), 'content-type': 'application/x-www-form-urlencoded' },
        body: 'grant_type=client_credentials',
      })
      expect(good.status).toBe(200)

      expect(output.spans).toBeGreaterThan(0)
      for (const line of (await metrics()).split('\n')) read(line)
      for await (const line of createInterface({ input: createReadStream(join(served.directory, 'audit.jsonl')) }))
        read(line)
      expect(output.leaks).toEqual([])
      // Names that come from requests make no series.
      expect(series).toBeLessThan(2000)
      // The first quarter fills caches and the heap's young half; a leak of a kilobyte a request shows in a long run.
      const [first = 0, last = 0] = [memory[0], memory.at(-1)]
      expect(last - first).toBeLessThan(64 + sent / 20_000)
    },
    90_000 + minutes * 60_000,
  )
})
