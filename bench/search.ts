import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { searchClients, searchPeople } from '../core/administration/search.js'
import { searchedCollections } from '../core/collections/searched.js'
import { openAccountStore } from '../core/interaction/accounts.js'
import { withSearchIndex } from '../core/storage/search-index.js'
import { openEmbedded } from '../stores/embedded/open-embedded.js'
import { openMongodb } from '../stores/mongodb/open-mongodb.js'
import { startMongo } from '../test/support/stores/mongo-server/start.js'

/** Measures searches for clients and people among many, on the embedded store or on MongoDB. */
const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '1000000' },
    samples: { type: 'string', default: '300' },
    store: { type: 'string', default: 'embedded' },
    path: { type: 'string', default: mkdtempSync(join(tmpdir(), 'signet-search-')) },
  },
})
const [count, samples] = [Number(values.records), Number(values.samples)]
const clock = Date.now
const mongo = values.store === 'mongodb' ? await startMongo(0, 1024 + Math.ceil(count / 100)) : undefined
const backend =
  mongo === undefined
    ? await openEmbedded({ path: values.path, clock, max_size_mb: 100_000 })
    : await openMongodb({ uri: mongo.uri(), database: mongo.database, clock, timeoutFactor: 20 })
const records = withSearchIndex(backend, searchedCollections, clock)
const stores = { records, ephemeral: records, [Symbol.asyncDispose]: () => Promise.resolve() }
const deployment = { config: { clients: [], accounts: [] } as never, stores }

const firstNames = ['Ada', 'Björn', 'Chloé', 'Dmitri', 'Élodie', 'Fatima', 'Grace', 'Hana', 'Ivan', 'José']
const nameAt = (index: number): string =>
  `${firstNames[index % 10] ?? ''} ${(index * 2654435761).toString(36)} ${(index % 5000).toString(36)}son`

const clients = records.records<object>('clients')
const { accounts, subjects } = openAccountStore(records)
const load = async (index: number): Promise<void> => {
  const [client_id, sub, username] = [`client-${String(index)}`, randomUUID(), `user${String(index)}`]
  const claims = { name: nameAt(index), email: `${username}@bank.example` }
  const client = { client_id, client_name: `Shop ${nameAt(index)}`, scope: [], redirect_uris: [], grant_types: [] }
  await Promise.all([
    clients.put(client_id, client),
    accounts.put(username, { username, sub, claims, password_hash: '' }),
    subjects.put(sub, { username }),
  ])
}

const table = new Table({ head: ['search', 'p50 ms', 'p99 ms', 'found'] })
const measure = async (name: string, search: (sample: number) => Promise<{ readonly items: readonly unknown[] }>) => {
  const times: number[] = []
  let found = 0
  for (let sample = 0; sample < samples; sample++) {
    const start = performance.now()
    found += (await search(sample)).items.length
    times.push(performance.now() - start)
  }
  times.sort((one, other) => one - other)
  const at = (part: number): string => (times[Math.floor(times.length * part)] ?? NaN).toFixed(1)
  table.push([name, at(0.5), at(0.99), String(found)])
}

try {
  const begun = performance.now()
  const lane = async (first: number): Promise<void> => {
    for (let index = first; index < count; index += 96) await load(index)
  }
  await Promise.all(Array.from({ length: 96 }, (_, first) => lane(first)))
  const seconds = ((performance.now() - begun) / 1000).toFixed(0)
  process.stderr.write(`${String(count)} clients and accounts were written in ${seconds} s\n`)
  const at = (sample: number): number => Math.floor((sample / samples) * count)
  const limit = 50
  await measure('one client by its id', (one) =>
    searchClients(deployment, { query: `client-${String(at(one))}`, limit }),
  )
  await measure('clients by a frequent word', () => searchClients(deployment, { query: 'shop', limit }))
  await measure('one person by username', (one) => searchPeople(deployment, { query: `user${String(at(one))}`, limit }))
  await measure('one person by name', (one) => searchPeople(deployment, { query: nameAt(at(one)), limit }))
  await measure('people by a frequent name', (one) =>
    searchPeople(deployment, { query: firstNames[one % 10] ?? '', limit }),
  )
  await measure('people by two frequent words', () => searchPeople(deployment, { query: 'elodie s', limit }))
  await measure('nobody', (one) => searchPeople(deployment, { query: `zzz${String(one)}`, limit }))
  console.log(table.toString())
} finally {
  await backend[Symbol.asyncDispose]()
  await mongo?.[Symbol.asyncDispose]()
  rmSync(values.path, { recursive: true, force: true })
}
