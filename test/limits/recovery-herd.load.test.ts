import { beforeAll, expect, it } from 'vitest'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { openMongodb } from '../../stores/mongodb/open-mongodb.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { collectionsOf, createMint } from '../support/forge/mint.js'
import { createDeployment, type Deployment } from '../support/server/processes.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { mongoMessageLength, openFaultProxy, type FaultProxy } from '../support/stores/fault-proxy.js'
import { freePort } from '../support/free-port.js'
import { auditServer } from '../support/load/ledger/audit-books.js'
import { Ledger } from '../support/load/ledger/ledger.js'
import { migrateMongo } from '../support/stores/mongo-server/migrate.js'
import { startMongo } from '../support/stores/mongo-server/start.js'
import { startRedis } from '../support/stores/redis/server.js'
import { settleRedis } from '../support/stores/redis/settle.js'
import { describeWith } from '../support/services/describe-with.js'
import {
  countReads,
  gatherHerd,
  remoteClient,
  startKeySetServer,
  storedClient,
  type KeySetServer,
} from '../support/load/herd.js'

// F36: MongoDB, Redis and the server of a client's keys are down, come back at the same moment, and SIGNET_HERD_CLIENTS clients
// ask at once; the process has none of it in memory.

const size = Number(process.env['SIGNET_HERD_CLIENTS'] ?? 240)
const poolSize = 10

describeWith(['mongodb', 'redis'], `${String(size)} clients after an outage`, () => {
  const keep = disposeAfterAll()
  let records: FaultProxy
  let ephemeral: FaultProxy
  let keySets: KeySetServer
  let store: StorageBackend
  let deployment: Deployment
  let admin: string

  beforeAll(async () => {
    const mongo = keep(await startMongo())
    const redis = keep(await startRedis())
    const { host, port, database } = mongo
    records = keep(await openFaultProxy({ host, port, messageLength: mongoMessageLength }))
    ephemeral = keep(await openFaultProxy({ port: redis.port }))
    keySets = keep(await startKeySetServer())
    await migrateMongo(mongo.uri(), database)
    store = keep(await openMongodb({ uri: mongo.uri(), database, clock: Date.now }))
    const { client } = parseClientMetadata(storedClient, ['read'])
    await collectionsOf(store).clients.put('stored', client!)
    await settleRedis({ uri: redis.uri(), key_prefix: 'herd:' })

    const adminPort = await freePort()
    admin = `http://127.0.0.1:${String(adminPort)}`
    const creating = createDeployment((written) => ({
      ...written,
      admin: { host: '127.0.0.1', port: adminPort },
      outbound: { allow_private_addresses: true },
      clients: [...(written['clients'] as object[]), remoteClient(keySets.url)],
      storage: {
        records: { use: 'mongodb', options: { uri: mongo.uri(records.port), database, max_pool_size: poolSize } },
        ephemeral: { use: 'redis', options: { uri: redis.uri(ephemeral.port), key_prefix: 'herd:' } },
      },
    }))
    deployment = keep(await creating)
    await deployment.start()
  })

  const metrics = async () => (await fetch(`${admin}/metrics`)).text()
  const metric = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name} (\\d+)`, 'm').exec(await metrics())?.[1] ?? 0)

  it('return at different times, and load everything once', { timeout: 180_000 }, async () => {
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
    for (const wait of herd.retryAfter) waits.set(wait, (waits.get(wait) ?? 0) + 1)
    // Seconds, 1 to 5: about a fifth of them get each, and most of them none.
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
    // A client is read again after 5 s; a read that ran out of time, after 0.8 s.
    expect(client.count).toBeLessThanOrEqual(2 + seconds / 0.8)
    expect(secret.count).toBeLessThanOrEqual(2 + seconds / 0.8)
    expect(records.connections()).toBeLessThanOrEqual(poolSize + 4)
    expect(ephemeral.connections()).toBeLessThanOrEqual(2)
    expect(resident).toBeLessThan(512)

    expect(await auditServer(ledger, deployment)).toEqual([])
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
