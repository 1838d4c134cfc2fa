import type { JSONWebKeySet } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Secret } from '../../config/secret.js'
import { collections } from '../../core/host/collections.js'
import { migrateStores } from '../../core/host/store-schemas.js'
import { openStores } from '../../core/host/stores.js'
import { parseClientMetadata } from '../../core/oauth/client-metadata.js'
import { openMongodb } from '../../core/storage/mongodb/open-mongodb.js'
import { openRedis } from '../../core/storage/redis/open-redis.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { createMint } from '../adversarial/support/mint.js'
import { createDeployment, type Deployment } from '../adversarial/support/processes.js'
import { mongoMessageLength, openFaultProxy, type FaultProxy } from '../support/fault-proxy.js'
import { freePort } from '../support/free-port.js'
import { auditBooks } from '../support/ledger/audit-books.js'
import { Ledger } from '../support/ledger/ledger.js'
import { startMongo, type TestMongo } from '../support/mongo-server/start.js'
import { startRedis, type RedisServer } from '../support/redis/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { patiently } from '../support/test-stores.js'
import { countReads, gatherHerd, remoteClient, startKeySetServer, storedClient, type KeySetServer } from './herd.js'

// F36: MongoDB, Redis and the server of a client's keys are down, come back at the same moment, and SIGNET_HERD_CLIENTS clients
// ask at once; the process has none of it in memory.

const size = Number(process.env['SIGNET_HERD_CLIENTS'] ?? 240)
const poolSize = 10

describeWith(['mongodb', 'redis'], `${String(size)} clients after an outage`, () => {
  let mongo: TestMongo
  let redis: RedisServer
  let records: FaultProxy
  let ephemeral: FaultProxy
  let keySets: KeySetServer
  let store: StorageBackend
  let deployment: Deployment
  let admin: string

  beforeAll(async () => {
    mongo = await startMongo()
    redis = await startRedis()
    records = await openFaultProxy({ host: mongo.host, port: mongo.port, messageLength: mongoMessageLength })
    ephemeral = await openFaultProxy({ port: redis.port })
    keySets = await startKeySetServer()
    const { database } = mongo
    const backend = { use: 'mongodb', options: { uri: new Secret(mongo.uri()), database, max_pool_size: 5 } } as const
    await using stores = await openStores({ storage: { records: backend, ephemeral: backend } }, Date.now)
    await patiently(() => migrateStores(stores))
    store = await openMongodb({ uri: mongo.uri(), database, clock: Date.now })
    const { client } = parseClientMetadata(storedClient, ['read'])
    await collections({ ...stores, records: store, ephemeral: store }).clients.put('stored', client!)
    // A Redis that has remembered for an hour.
    await using settled = await openRedis({
      uri: redis.uri(),
      key_prefix: 'herd:',
      clock: () => Date.now() - 3_600_000,
    })
    await settled.ping(new AbortController().signal)

    const adminPort = await freePort()
    admin = `http://127.0.0.1:${String(adminPort)}`
    deployment = await createDeployment((written) => ({
      ...written,
      admin: { host: '127.0.0.1', port: adminPort },
      outbound: { allow_private_addresses: true },
      clients: [...(written['clients'] as object[]), remoteClient(keySets.url)],
      storage: {
        records: { use: 'mongodb', options: { uri: mongo.uri(records.port), database, max_pool_size: poolSize } },
        ephemeral: { use: 'redis', options: { uri: redis.uri(ephemeral.port), key_prefix: 'herd:' } },
      },
    }))
    await deployment.start()
  })
  afterAll(async () => {
    await deployment[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
    for (const one of [keySets, records, ephemeral, redis, mongo]) await one[Symbol.asyncDispose]()
  })

  const metrics = async () => (await fetch(`${admin}/metrics`)).text()
  const metric = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name} (\\d+)`, 'm').exec(await metrics())?.[1] ?? 0)

  it('are told to come back at different times, and cost one load of each thing', { timeout: 180_000 }, async () => {
    const { issuer } = deployment
    const ledger = new Ledger()
    await expect.poll(async () => (await fetch(`${admin}/health/ready`)).status, { timeout: 10_000 }).toBe(200)
    const herd = await gatherHerd(size, { issuer, mint: createMint(store), ledger })
    await records.down()
    await ephemeral.down()
    keySets.down = true

    const begun = performance.now()
    for (const { status } of await herd.ask()) expect(status).toBe(503)
    const outageHits = keySets.hits
    const waits = new Map<string, number>()
    for (const wait of herd.told) waits.set(wait, (waits.get(wait) ?? 0) + 1)
    // Seconds, 1 to 5: each is told to about a fifth of them, and none to most.
    expect([...waits.keys()].sort()).toEqual(['1', '2', '3', '4', '5'])
    for (const count of waits.values()) expect(count).toBeLessThan(size * 0.4)

    await records.heal()
    await ephemeral.heal()
    keySets.down = false
    const reads = countReads(records)
    const healed = performance.now()
    const lost = await herd.persist()
    const seconds = (performance.now() - begun) / 1000
    const servedAfter = (performance.now() - healed) / 1000
    const resident = (await metric('process_resident_memory_bytes')) / 2 ** 20
    const shed = await metric('signet_http_shed_total')
    herd.close()

    expect(herd.affronts).toEqual([])
    expect(herd.statuses.get(200)).toBe(size - lost)
    const [client, secret] = [reads.of('clients'), reads.of('secrets')]
    expect({ client: client.atOnce, secret: secret.atOnce, keySet: keySets.atOnce }).toEqual({
      client: 1,
      secret: 1,
      keySet: 1,
    })
    // A set that cannot be fetched is tried every 10 s; one that was, is good for ten minutes.
    expect(keySets.hits).toBeLessThanOrEqual(2 + seconds / 10)
    // A client is read anew after 5 s; a read that had to be given up for want of time, anew after 0.8 s.
    expect(client.count).toBeLessThanOrEqual(2 + seconds / 0.8)
    expect(secret.count).toBeLessThanOrEqual(2 + seconds / 0.8)
    expect(records.connections()).toBeLessThanOrEqual(poolSize + 4)
    expect(ephemeral.connections()).toBeLessThanOrEqual(2)
    expect(resident).toBeLessThan(512)

    const keySet = (await (await fetch(`${issuer}/jwks.json`)).json()) as JSONWebKeySet
    expect(await auditBooks({ ledger, audit: await deployment.audit(), keySet, issuer })).toEqual([])
    console.log(
      `${String(size)} clients: ${String(size - lost)} served, the last ${servedAfter.toFixed(1)} s after recovery; the key set fetched ${String(outageHits)} ` +
        `times in the outage and ${String(keySets.hits - outageHits)} after it, the client read ${String(client.count)} times, ` +
        `the secret ${String(secret.count)}; ${String(lost)} codes lost with the answer, ${String(shed)} requests shed, ${String(records.connections())} connections to ` +
        `MongoDB, RSS ${resident.toFixed(0)} MiB; Retry-After`,
      Object.fromEntries([...waits].sort()),
      Object.fromEntries(herd.statuses),
    )
  })
})
