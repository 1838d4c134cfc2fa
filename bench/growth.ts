import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { Redis } from 'ioredis'
import { openEmbedded } from '../stores/embedded/open-embedded.js'
import { openMongodb } from '../stores/mongodb/open-mongodb.js'
import type { EphemeralBackend, StorageBackend } from '../core/storage/ports.js'
import { counts, fill, kindsOf, timeBoth, type Kind, type Times } from './growth-kinds.js'
import { startMongo } from '../test/support/stores/mongo-server/start.js'
import { startTestRedis } from '../test/support/stores/redis/store.js'

/**
 * Measures the cost of a full store: it is filled in bounded batches, and the operation that a request waits for is
 * timed next to a nearly empty one. Latencies are of one caller; bytes are the store's growth per entry.
 */
const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'embedded' },
    ...counts,
  },
})

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
      // Counted in blocks, because the file has holes.
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
    // The stand-in does not report it.
    size: async () => NaN,
    [Symbol.asyncDispose]: async () => {
      await backend[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
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
const emptyKinds = kindsOf(empty, values)
for (const [index, { name, count, fill: make, operate }] of kindsOf(full, values).entries()) {
  process.stderr.write(`${full.name}: ${name} …\n`)
  const small = emptyKinds[index] as Kind
  await fill(small.fill, few, Infinity)
  await fill(make, few, Infinity)
  const before = await full.size()
  const begun = performance.now()
  const made = await fill(make, count, begun + Number(values.seconds) * 1000)
  const took = (performance.now() - begun) / 1000
  const bytes = ((await full.size()) - before) / made
  await timeBoth([small.operate, operate], Number(values.samples))
  const [little, much] = (await timeBoth([small.operate, operate], Number(values.samples))) as [Times, Times]
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
