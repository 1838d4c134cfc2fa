import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { Redis } from 'ioredis'
import { collections } from '../../core/host/collections.js'
import { parseClientMetadata } from '../../core/oauth/client-metadata.js'
import type { Client } from '../../core/oauth/client.js'
import { newRefreshToken } from '../../core/oauth/refresh-token.js'
import { openEmbedded } from '../../core/storage/embedded/open-embedded.js'
import { openMongodb } from '../../core/storage/mongodb/open-mongodb.js'
import type { EphemeralBackend, StorageBackend } from '../../core/storage/ports.js'
import { median } from './compete.js'
import { startMongo } from '../support/mongo-server/start.js'
import { startTestRedis } from '../support/redis/store.js'

/**
 * What a store costs when it is full: it is filled in bounded batches, and the operation that a request waits for is timed
 * beside one that is nearly empty. Latencies are of one caller; bytes are what the store grew by for one entry.
 */
const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'embedded' },
    families: { type: 'string', default: '1000000' },
    replays: { type: 'string', default: '5000000' },
    clients: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '200' },
    samples: { type: 'string', default: '2000' },
  },
})

const idleTtl = 14 * 86_400
const now = Date.now()

interface Kind {
  readonly name: string
  readonly count: number
  fill(): Promise<unknown>
  /** What a request waits for, of one that is there. */
  operate(): Promise<unknown>
}

interface Opened extends AsyncDisposable {
  readonly name: string
  readonly records: StorageBackend | undefined
  readonly ephemeral: EphemeralBackend
  /** Bytes that it takes. */
  size(): Promise<number>
}

const openStore = async (): Promise<Opened> => {
  if (values.store === 'embedded') {
    const directory = mkdtempSync(join(tmpdir(), 'signet-growth-'))
    const backend = await openEmbedded({ path: directory, clock: Date.now, max_size_mb: 32_768 })
    return {
      name: 'embedded',
      records: backend,
      ephemeral: backend,
      // Blocks, because the file has holes.
      size: async () =>
        readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).blocks * 512, 0),
      [Symbol.asyncDispose]: async () => {
        await backend[Symbol.asyncDispose]()
        rmSync(directory, { recursive: true })
      },
    }
  }
  if (values.store === 'redis') {
    const server = await startTestRedis()
    const backend = await server.open(Date.now)
    const client = new Redis(server.uri, { protocol: 2 })
    return {
      name: 'redis',
      records: undefined,
      ephemeral: backend,
      size: async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]),
      [Symbol.asyncDispose]: async () => {
        client.disconnect()
        await backend[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      },
    }
  }
  if (values.store !== 'mongodb') throw new Error('--store is embedded, mongodb or redis')
  const server = await startMongo()
  const backend = await openMongodb({ uri: server.uri(), database: server.database, clock: Date.now })
  await backend.schema?.migrate()
  return {
    name: process.env['MONGODB_URI'] ? 'mongodb' : 'mongodb (stand-in)',
    records: backend,
    ephemeral: backend,
    // The stand-in keeps no account of it.
    size: async () => NaN,
    [Symbol.asyncDispose]: async () => {
      await backend[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

const kindsOf = ({ records, ephemeral }: Opened): readonly Kind[] => {
  const proofs = ephemeral.replayGuard('dpop_proofs')
  const claim = () => proofs.claim('thumbprint-of-a-key', randomBytes(32).toString('base64url'), 86_400, now)
  const replays: Kind = { name: 'replay entries', count: Number(values.replays), fill: claim, operate: claim }
  if (records === undefined) return [replays]

  const { families, clients } = collections({ records, ephemeral, [Symbol.asyncDispose]: () => Promise.resolve() })
  const started: { readonly family: string; hash: string }[] = []
  const grant = () => ({
    grantId: randomUUID(),
    clientId: 'app',
    subject: randomUUID(),
    scope: ['openid', 'offline_access', 'api:read'],
    resource: ['https://api.bench.example'],
    authentication: { auth_time: Math.floor(now / 1000), amr: ['pwd'], nonce: randomUUID(), sid: randomUUID() },
  })
  const start = async () => {
    const { family, hash } = newRefreshToken()
    await families.start(family, { grant: grant(), current: hash, absoluteExpiry: now + 7_776_000_000 }, idleTtl)
    if (started.length < 10_000) started.push({ family, hash })
  }
  const rotate = async () => {
    const one = started[Math.floor(Math.random() * started.length)]
    if (one === undefined) throw new Error('No family')
    const successor = { hash: randomBytes(32).toString('base64url'), salt: randomBytes(16).toString('base64url') }
    const { outcome } = await families.rotate(one.family, { presented: one.hash, successor, idleTtlSeconds: idleTtl })
    if (outcome !== 'won') throw new Error(`A rotation was ${outcome}`)
    one.hash = successor.hash
  }

  const metadata = { client_secret: 'x'.repeat(43), redirect_uris: ['https://app.bench.example/cb'], scope: 'openid' }
  const client = parseClientMetadata({ client_id: 'client', ...metadata }, ['openid']).client as Client
  let registered = 0
  const register = () => clients.put(`client-${String(registered++)}`, client)
  const look = async () => {
    if (!(await clients.find(`client-${String(Math.floor(Math.random() * registered))}`))) throw new Error('No client')
  }
  return [
    { name: 'refresh families', count: Number(values.families), fill: start, operate: rotate },
    { name: 'clients', count: Number(values.clients), fill: register, operate: look },
    replays,
  ]
}

interface Times {
  readonly p50: number
  readonly p99: number
}

/** In turn, so that what else the machine does meets both. Microseconds. */
const timeBoth = async (operations: readonly (() => Promise<unknown>)[]): Promise<readonly Times[]> => {
  const samples = Number(values.samples)
  const took = operations.map((): number[] => [])
  for (let index = 0; index < samples; index++) {
    for (const [at, operate] of operations.entries()) {
      const start = performance.now()
      await operate()
      took[at]?.push((performance.now() - start) * 1000)
    }
  }
  return took.map((all) => ({ p50: median(all), p99: all.sort((x, y) => x - y)[Math.floor(samples * 0.99)] ?? NaN }))
}

const abreast = 512

/** How many there are when the time is over, or all are. */
const fill = async (make: () => Promise<unknown>, count: number, until: number): Promise<number> => {
  let made = 0
  while (made < count && performance.now() < until) {
    const batch = Math.min(abreast, count - made)
    await Promise.all(Array.from({ length: batch }, make))
    made += batch
  }
  return made
}

const table = new Table({
  head: [
    'store',
    'entries',
    'number',
    'seconds',
    'bytes each',
    'p50 µs empty',
    'full',
    'ratio',
    'p99 µs empty',
    'full',
  ],
  style: { head: [], border: [] },
})
const few = 1000
await using empty = await openStore()
await using full = await openStore()
const emptyKinds = kindsOf(empty)
for (const [index, { name, count, fill: make, operate }] of kindsOf(full).entries()) {
  process.stderr.write(`${full.name}: ${name} …\n`)
  const small = emptyKinds[index] as Kind
  await fill(small.fill, few, Infinity)
  await fill(make, few, Infinity)
  const before = await full.size()
  const begun = performance.now()
  const made = await fill(make, count, begun + Number(values.seconds) * 1000)
  const took = (performance.now() - begun) / 1000
  const bytes = ((await full.size()) - before) / made
  await timeBoth([small.operate, operate])
  const [little, much] = (await timeBoth([small.operate, operate])) as [Times, Times]
  const micros = [little.p50, much.p50].map((value) => value.toFixed(1))
  const late = [little.p99, much.p99].map((value) => value.toFixed(0))
  const number = made.toLocaleString('en-US')
  table.push([
    full.name,
    name,
    number,
    took.toFixed(0),
    bytes.toFixed(0),
    ...micros,
    (much.p50 / little.p50).toFixed(2),
    ...late,
  ])
}
console.log(table.toString())
const loads = loadavg().map((value) => value.toFixed(1))
console.log(`load average ${loads.join(' ')}`)
