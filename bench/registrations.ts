import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import type { Client } from '../core/oauth/clients/client.js'
import { openMongodb } from '../stores/mongodb/open-mongodb.js'
import { issueToken, manage, post, register, type Registered } from '../test/support/clients/registration.js'
import { createDeployment } from '../test/support/server/processes.js'
import { startMongo } from '../test/support/stores/mongo-server/start.js'
import { bulkLoadMongodb } from './bulk-load.js'

/**
 * Measures client registration on MongoDB with many existing clients: one process of the product, and callers that
 * each wait for their answer. Uses `MONGODB_URI` if set, otherwise the stand-in, with as much memory as the clients
 * need.
 */
const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '10' },
    callers: { type: 'string', default: '16' },
  },
})
const [wanted, seconds, callers] = [Number(values.clients), Number(values.seconds), Number(values.callers)]

const web = {
  client_name: 'Example Ledger',
  redirect_uris: ['https://ledger.example/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  logo_uri: 'https://ledger.example/logo.png',
  policy_uri: 'https://ledger.example/privacy',
}

/** In the form that a registration stores. */
const clientLike = (model: Client): Client => ({ ...model, client_id: randomUUID() })

const inLanes = async (count: number, lane: () => Promise<void>): Promise<void> => {
  await Promise.all(Array.from({ length: count }, lane))
}

const measure = async (work: () => Promise<unknown>) => {
  const times: number[] = []
  const end = performance.now() + seconds * 1000
  const begun = performance.now()
  await inLanes(callers, async () => {
    while (performance.now() < end) {
      const start = performance.now()
      await work()
      times.push(performance.now() - start)
    }
  })
  const took = (performance.now() - begun) / 1000
  times.sort((a, b) => a - b)
  const at = (part: number): string => (times[Math.floor(times.length * part)] ?? NaN).toFixed(1)
  return [(times.length / took).toFixed(0), at(0.5), at(0.99)]
}

const clock = Date.now
await using server = await startMongo(0, 512 + Math.ceil(wanted / 250))
const uri = server.uri()
await using store = await openMongodb({ uri, database: server.database, clock, timeoutFactor: 20 })
const load = bulkLoadMongodb(uri, server.database)
const storage = { use: 'mongodb', options: { uri, database: server.database, max_size_mb: 1_000_000 } }
await using deployment = await createDeployment((written) => ({
  ...written,
  storage: { records: storage, ephemeral: storage },
  trusted_proxies: ['127.0.0.1/32'],
  registration: { mode: 'open' },
  rate_limits: { register: { address_per_minute: 100_000_000, address_open: 1_000_000 } },
}))
const { origin } = await deployment.start()

const table = new Table({
  head: ['clients', 'request', 'a second', 'p50 ms', 'p99 ms'],
  style: { head: [], border: [] },
})
const told = await register(origin, web)
const model = await store.records<Client>('clients').find(told.client_id)
if (model === undefined) throw new Error('the client is not in the store')

let mine: Registered = told
const change = async (): Promise<void> => {
  const answer = await manage('PUT', mine, { ...web, client_id: mine.client_id })
  if (answer.status !== 200) throw new Error(answer.text)
  mine = answer.body as unknown as Registered
}

const cases: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['POST /register, open', () => register(origin, web)],
  [
    'POST /register, a token of one use each (with its issue)',
    async () => register(origin, web, await issueToken(store, clock)),
  ],
  ['GET /register/{client_id}', () => manage('GET', told)],
]

for (const count of [0, wanted]) {
  const begun = performance.now()
  await load('clients', count, () => {
    const record = clientLike(model)
    return { id: record.client_id, record }
  })
  process.stderr.write(`${String(count)} clients added in ${((performance.now() - begun) / 1000).toFixed(0)} s\n`)
  for (const [name, work] of cases) table.push([count.toLocaleString('en-US'), name, ...(await measure(work))])
}
const refused = await post(origin, { ...web, redirect_uris: ['http://ledger.example/'] })
if (refused.status !== 400) throw new Error('a wrong registration was not refused')
await change()
console.log(table.toString())
