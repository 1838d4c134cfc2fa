import { Redis } from 'ioredis'
import { BSON } from 'mongodb'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { cachedSeconds } from '../../core/oauth/clients/client-directory.js'
import { configuredAccountId, type DisabledAccount } from '../../core/interaction/accounts.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import type { Client } from '../../core/oauth/clients/client.js'
import { openMongodb } from '../../stores/mongodb/open-mongodb.js'
import { newOpaqueToken } from '../../core/opaque-token.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { basic, type Credentials } from '../support/clients/clients.js'
import { collectionsOf, createMint, verifier, type Mint } from '../support/forge/mint.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { createProver } from '../support/clients/dpop-proof.js'
import { mongoMessageLength, openFaultProxy } from '../support/stores/fault-proxy.js'
import { commandOf } from '../support/stores/mongo-server/messages.js'
import { migrateMongo } from '../support/stores/mongo-server/migrate.js'
import { startMongo } from '../support/stores/mongo-server/start.js'
import { startTestRedis } from '../support/stores/redis/store.js'
import { redirectUri, startServer, subject, webClient, type TestServer } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

// What a request costs far from its stores: the commands that reach MongoDB and Redis because of it, seen on the wire.

/** The driver's own, and the service's look at whether the store is well. */
const housekeeping = new Set(['hello', 'isMaster', 'ismaster', 'listIndexes', 'endSessions', 'buildInfo'])
/**
 * What every process does by its own clock: the question for the store's health is a write to the first, shares are told once a
 * second in the next, and the others are looked through for what is to be sent, withdrawn or found out.
 */
const asides = new Set<unknown>([
  ...['health', 'shares', 'logout_deliveries', 'ping_deliveries', 'key_publications', 'figures', 'approvals'],
  // The day of a client's last use is written once a day, and no answer waits for it.
  'client_uses',
])
const isHousekeeping = (message: Buffer, command: string): boolean =>
  housekeeping.has(command) || asides.has(BSON.deserialize(message.subarray(21))[command])

const machine = { client_id: 'machine', client_secret: 'machine-secret-of-more-than-256-bits-for-tests' }

const parse = (metadata: object): Client => {
  const { client } = parseClientMetadata(metadata, ['openid', 'profile', 'email', 'offline_access', 'read'])
  if (client === undefined) throw new Error('the metadata is wrong')
  return client
}
const machineClient = parse({ ...machine, grant_types: ['client_credentials'], scope: 'read' })
const person = { ...webClient, client_id: 'person', scope: 'openid offline_access read' }

describeWith(['mongodb', 'redis'], 'round trips to the stores', () => {
  const keep = disposeAfterAll()
  let server: TestServer
  let seeding: StorageBackend
  let mint: Mint
  let watcher: Redis
  let monitor: Redis
  let now = Date.now()
  /** Those that are on their way at the same time are one round trip. */
  const toRecords: string[][] = []
  const toEphemeral: string[] = []
  let marked = () => {}

  const clients = () => collectionsOf(seeding).clients

  beforeAll(async () => {
    const mongo = keep(await startMongo())
    const redis = keep(await startTestRedis())
    const proxy = keep(await openFaultProxy({ host: mongo.host, port: mongo.port, messageLength: mongoMessageLength }))
    const records = { uri: mongo.uri(proxy.port), database: mongo.database }
    seeding = keep(await openMongodb({ uri: mongo.uri(), database: mongo.database, clock: () => now }))
    await migrateMongo(mongo.uri(), mongo.database)
    await clients().put('machine', machineClient)
    await clients().put('person', parse(person))
    mint = createMint(seeding)
    // Before the service: a command of others that is told together with the answer to MONITOR makes the driver fail.
    watcher = new Redis(redis.uri, { protocol: 2 })
    await watcher.ping()
    monitor = await new Redis(redis.uri, { protocol: 2, lazyConnect: false }).monitor()
    monitor.on('monitor', (_time: string, [command = '', ...given]: string[], source: string) => {
      if (command.toLowerCase() === 'echo') marked()
      // A script is one command, whatever it does there.
      const key = given.find((argument) => argument.startsWith(redis.prefix))?.slice(redis.prefix.length)
      if (source !== 'lua' && key !== undefined && key !== 'memory' && key !== 'ping' && !key.startsWith('shares:'))
        toEphemeral.push(`${command.toLowerCase()} ${key.split(':')[0] ?? ''}`)
    })
    const starting = startServer({
      clock: () => now,
      configure: (written) => ({
        ...written,
        storage: {
          records: { use: 'mongodb', options: records },
          ephemeral: { use: 'redis', options: { uri: redis.uri, key_prefix: redis.prefix } },
        },
      }),
    })
    server = keep(await starting)
    proxy.faults.latencyMs = 10
    // By the number of the request, which its reply repeats (MongoDB Wire Protocol, standard message header).
    const underWay = new Set<number>()
    proxy.faults.onRequest = (message) => {
      const command = commandOf(message)
      if (command === undefined || isHousekeeping(message, command)) return 'forward'
      if (underWay.size === 0) toRecords.push([])
      toRecords.at(-1)?.push(command)
      underWay.add(message.readInt32LE(4))
      return 'forward'
    }
    proxy.faults.onReply = (message) => {
      underWay.delete(message.readInt32LE(8))
      return message
    }
  })
  afterAll(() => {
    monitor.disconnect()
    watcher.disconnect()
  })

  const token = async (form: Readonly<Record<string, string>>, credentials: Credentials, dpop?: string) => {
    const response = await fetch(`${server.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { authorization: basic(credentials), ...(dpop !== undefined && { dpop }) },
    })
    return { response, body: (await response.json()) as Record<string, string> }
  }

  /** Redis tells its watchers in order: after the mark, all that came before it has arrived. */
  const seen = async () => {
    const mark = new Promise<void>((resolve) => (marked = resolve))
    await watcher.echo('mark')
    await mark
    return { records: toRecords.map((together) => together.toSorted()), ephemeral: [...toEphemeral] }
  }
  const costOf = async (work: () => Promise<{ response: Response; body: Record<string, string> }>) => {
    await seen()
    toRecords.length = 0
    toEphemeral.length = 0
    const { response, body } = await work()
    expect(response.status).toBe(200)
    return { ...(await seen()), body }
  }
  const credentials = { grant_type: 'client_credentials', scope: 'read' }
  const exchange = { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: verifier }

  // Clients are in the cache, and connections are open.
  beforeEach(async () => {
    const unknown = { ...exchange, code: newOpaqueToken() }
    const asked = await Promise.all([
      token(credentials, machine),
      ...Array.from({ length: 4 }, () => token(unknown, person)),
    ])
    expect(asked.map(({ response }) => response.status)).toEqual([200, 400, 400, 400, 400])
  })

  it('client_credentials: none', async () => {
    expect(await costOf(() => token(credentials, machine))).toMatchObject({ records: [], ephemeral: [] })
  })

  it('a client that is not in the cache: one on records', async () => {
    now += cachedSeconds * 1000
    expect(await costOf(() => token(credentials, machine))).toMatchObject({ records: [['find']], ephemeral: [] })
  })

  it('a proof of DPoP: one on ephemeral', async () => {
    const prover = createProver('ES256', () => now)
    const url = `${server.issuer}/token`
    const refused = await token(credentials, machine, prover.proof(url, undefined))
    const nonce = refused.response.headers.get('dpop-nonce') ?? ''
    const cost = await costOf(() => token(credentials, machine, prover.proof(url, nonce)))
    expect(cost).toMatchObject({ records: [], ephemeral: ['evalsha dpop_proofs'] })
  })

  // The person is in the configuration: whether an operator has disabled the account is read together with the revocations.
  it('a code: three on records', async () => {
    const [read, redeem] = [['find'], ['findAndModify']]
    const plain = await mint.code({ clientId: 'person', scope: ['openid', 'read'] })
    const without = await costOf(() => token({ ...exchange, code: plain.code }, person))
    expect(without.body['refresh_token']).toBeUndefined()
    expect(without).toMatchObject({ records: [read, ['find', 'find'], redeem], ephemeral: [] })

    const offline = await mint.code({ clientId: 'person', scope: ['openid', 'offline_access', 'read'] })
    const cost = await costOf(() => token({ ...exchange, code: offline.code }, person))
    expect(cost.body['refresh_token']).toBeTypeOf('string')
    expect(cost).toMatchObject({ records: [read, ['find', 'find', 'update'], redeem], ephemeral: [] })
  })

  it('a refresh token: three on records, rotated or kept, and one more where the index does not have the grant', async () => {
    const before = [['find'], ['find', 'find', 'find'], ['update']]
    const kept = await mint.refreshToken({ clientId: 'person' })
    const form = { grant_type: 'refresh_token', refresh_token: kept.token }
    const keeping = await costOf(() => token(form, person))
    expect(keeping).toMatchObject({ records: [...before, ['find']], ephemeral: [] })

    const rotating = await mint.refreshToken({ clientId: 'app' })
    const asApp = () =>
      fetch(`${server.issuer}/token`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'refresh_token', client_id: 'app', refresh_token: rotating.token }),
      }).then(async (response) => ({ response, body: (await response.json()) as Record<string, string> }))
    // The entry is added as soon as it is known to be missing, which may be before the other answers are here.
    const { records, ephemeral } = await costOf(asApp)
    expect(records.flat()).toEqual([...before, ['findAndModify']].flat())
    expect(records.length).toBeLessThanOrEqual(before.length + 1)
    expect(ephemeral).toEqual([])
  })

  it('a person who is disabled gets nothing at the next request, and uses nothing up', async () => {
    const tombstones = seeding.records<DisabledAccount>('disabled_accounts')
    const { code } = await mint.code({ clientId: 'person', scope: ['openid', 'offline_access', 'read'] })
    const kept = await mint.refreshToken({ clientId: 'person' })
    const forms = [
      { ...exchange, code },
      { grant_type: 'refresh_token', refresh_token: kept.token },
    ]
    const ask = async () =>
      Promise.all(
        forms.map(async (form) =>
          (({ response, body }) => [response.status, body['error']])(await token(form, person)),
        ),
      )
    await tombstones.put(configuredAccountId(subject), { sub: subject })
    expect(await ask()).toEqual(forms.map(() => [400, 'invalid_grant']))
    await tombstones.remove(configuredAccountId(subject))
    expect(await ask()).toEqual(forms.map(() => [200, undefined]))
  })

  it('CA16 a client that is disabled or removed works no longer than the cache keeps it', async () => {
    const ask = async () => (await token(credentials, machine)).response.status
    await clients().put('machine', { ...machineClient, disabled: true })
    now += cachedSeconds * 1000
    expect(await ask()).toBe(401)
    await clients().remove('machine')
    now += cachedSeconds * 1000
    expect(await ask()).toBe(401)
    await clients().put('machine', machineClient)
    now += cachedSeconds * 1000
    expect(await ask()).toBe(200)
  })
})
