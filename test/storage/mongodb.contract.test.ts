import { randomUUID } from 'node:crypto'
import { BSON, MongoClient, type Db, type Document } from 'mongodb'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createAttemptLimiter } from '../../core/storage/attempts.js'
import { openMongodb } from '../../stores/mongodb/open-mongodb.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { Unavailable } from '../../core/unavailable.js'
import { mongoMessageLength, openFaultProxy, type FaultProxy } from '../support/stores/fault-proxy.js'
import { commandOf } from '../support/stores/mongo-server/messages.js'
import { startMongo, type TestMongo } from '../support/stores/mongo-server/start.js'
import { describeWith } from '../support/services/describe-with.js'

// What is MongoDB's own: what is asked of the server, what other versions wrote, and what must not come in.

describe('the connection string', () => {
  const open = (uri: string) => openMongodb({ uri, database: 'signet', clock: Date.now })

  it.each([
    ['http://db.example', 'Invalid scheme'],
    ['mongodb://', 'host list are required'],
    ['mongodb://db.example/?retires=1', 'option retires is not supported'],
    ['mongodb://signet:can/ary@db.example/', 'unescaped characters'],
    ['mongodb://signet:canary%zz@db.example/', 'URI malformed'],
  ])('%s is refused in words that repeat no password', async (uri, words) => {
    const error: unknown = await open(uri).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'BadOption', option: 'uri' })
    expect((error as Error).message).toContain(words)
    expect(`${String(error)} ${JSON.stringify(error)} ${String((error as Error).cause)}`).not.toContain('canary')
  })

  it.each([
    ['mongodb://127.0.0.1:1/', /ECONNREFUSED/],
    ['mongodb://db.invalid/', /ENOTFOUND|EAI_AGAIN/],
    ['mongodb://db.example/?tls=true&tlsCAFile=/nowhere.pem', /nowhere\.pem/],
  ])('%s is an outage in words', async (uri, words) => {
    await using backend = await open(uri)
    const error: unknown = await backend.ping(new AbortController().signal).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Unavailable)
    expect((error as Unavailable).applied).toBe('no')
    expect((error as Unavailable).message).toMatch(words)
  })
})

describeWith('mongodb', 'storage on MongoDB', () => {
  let server: TestMongo
  let proxy: FaultProxy
  let client: MongoClient
  let db: Db
  let store: StorageBackend
  let requests: Buffer[] = []
  beforeAll(async () => {
    server = await startMongo()
    proxy = await openFaultProxy({ host: server.host, port: server.port, messageLength: mongoMessageLength })
    client = await MongoClient.connect(server.uri())
    db = client.db(server.database)
    store = await openMongodb({ uri: server.uri(proxy.port), database: server.database, clock: Date.now })
    await store.ping(AbortSignal.timeout(5000))
    proxy.faults.onRequest = (message) => {
      requests.push(message)
      return 'forward'
    }
  })
  beforeEach(() => {
    requests = []
  })
  afterAll(async () => {
    await store[Symbol.asyncDispose]()
    await client.close()
    await proxy[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  /** Without those of the monitor. */
  const sent = () =>
    requests.filter((message) => !['hello', 'ismaster', 'isMaster', undefined].includes(commandOf(message)))
  const bodies = () => sent().map((message) => BSON.deserialize(message.subarray(21)))
  const rotation = { presented: 'h1', successor: { hash: 'h2', salt: 's2' }, idleTtlSeconds: 100 }
  const newFamily = () => ({ grant: {}, current: 'h1', absoluteExpiry: Date.now() + 1_000_000 })
  const policy = { free: 1, baseDelaySeconds: 1, maxDelaySeconds: 1, forgetAfterSeconds: 100 }
  const device = () => ({ userCode: randomUUID(), request: {}, intervalSeconds: 5 })

  it.each([
    '',
    'w=1&journal=false&wtimeout=60000&readConcernLevel=available&readPreference=secondary&readPreferenceTags=dc:a',
  ])('asks for a majority and its journal with every write (%j)', async (options) => {
    const uri = new URL(server.uri(proxy.port))
    for (const [name, value] of new URLSearchParams(options)) uri.searchParams.set(name, value)
    await using store = await openMongodb({ uri: uri.href, database: server.database, clock: Date.now })
    await store.ping(AbortSignal.timeout(5000))
    const id = randomUUID()
    const device_ = device()
    await store.oneTime('codes').put(id, 'r', 60)
    await store.oneTime('codes').redeem(id)
    await store.refreshFamilies('families').start(id, newFamily(), 100)
    await store.refreshFamilies('families').rotate(id, rotation)
    await store.refreshFamilies('families').remove(id)
    await store.replayGuard('replays').claim('n', id, 60)
    await store.revocations('revocations').revoke(id, 60)
    await store.records('clients').put(id, {})
    await store.records('clients').list(undefined, 1)
    await store.records('clients').remove(id)
    await createAttemptLimiter(store.counters('counters')).take('n', id, policy)
    await store.deviceCodes('device_codes').start(id, device_, 100)
    await store.deviceCodes('device_codes').decide(device_.userCode, 'denied')
    const reads = bodies().filter((body) => 'find' in body)
    for (const body of reads) expect(body['readConcern']?.level ?? 'local').toBe('local')
    for (const body of reads) expect(body['$readPreference']?.mode ?? 'primary').toMatch(/^primary/)
    const writes = bodies().filter((body) => !('find' in body))
    expect(writes).toHaveLength(14)
    for (const { writeConcern } of writes) expect(writeConcern).toEqual({ w: 'majority', j: true, wtimeout: 600 })
  })

  it.each<readonly [string, number, (id: string) => Promise<unknown>]>([
    ['put of a code', 1, (id) => store.oneTime('trip_codes').put(`${id} new`, 'r', 60)],
    ['find of a code', 1, (id) => store.oneTime('trip_codes').find(id)],
    ['redemption that wins', 1, (id) => store.oneTime('trip_codes').redeem(id)],
    ['redemption that is a replay', 2, (id) => store.oneTime('trip_used').redeem(id)],
    ['start of a family', 1, (id) => store.refreshFamilies('trip_families').start(`${id} new`, newFamily(), 100)],
    ['rotation that wins', 1, (id) => store.refreshFamilies('trip_families').rotate(id, rotation)],
    ['claim, won', 1, (id) => store.replayGuard('trip_replays').claim('n', `${id} new`, 60)],
    ['claim, lost', 1, (id) => store.replayGuard('trip_replays').claim('n', id, 60)],
    ['question for revocations', 1, (id) => store.revocations('trip_revocations').isRevoked([id, 'b', 'c'])],
    [
      'the same with an end by time',
      1,
      (id) => store.revocations('trip_revocations').isRevoked([id], { id: 'd', at: 1 }),
    ],
    ['revocation', 1, (id) => store.revocations('trip_revocations').revoke(id, 60)],
    ['end by time', 1, (id) => store.revocations('trip_revocations').revokeBefore(`${id} new`, 1, 60)],
    ['moment of an end', 1, (id) => store.revocations('trip_revocations').endedBefore(id)],
    ['find of a record', 1, (id) => store.records('trip_records').find(id)],
    ['put of a record', 1, (id) => store.records('trip_records').put(id, {})],
    ['put if absent', 1, (id) => store.records('trip_records').put(id, {}, { onlyIfAbsent: true })],
    ['attempt', 2, (id) => createAttemptLimiter(store.counters('trip_counters')).take('n', id, policy)],
    ['start of a device', 2, (id) => store.deviceCodes('trip_devices').start(`${id} new`, device(), 100)],
    ['poll of a device', 2, (id) => store.deviceCodes('trip_devices').poll(id)],
  ])('a %s is %i round trips', async (_, trips, call) => {
    const id = randomUUID()
    await store.oneTime('trip_codes').put(id, 'r', 60)
    await store.oneTime('trip_used').put(id, 'r', 60)
    await store.oneTime('trip_used').redeem(id)
    await store.refreshFamilies('trip_families').start(id, newFamily(), 100)
    await store.replayGuard('trip_replays').claim('n', id, 60)
    await store.deviceCodes('trip_devices').start(id, device(), 100)
    requests = []
    await call(id)
    expect(sent()).toHaveLength(trips)
  })

  it('lets nothing but text into a query', async () => {
    const operator = { $ne: '' } as unknown as string
    const codes = store.oneTime('codes')
    const families = store.refreshFamilies('families')
    const id = randomUUID()
    await families.start(id, newFamily(), 100)
    for (const call of [
      () => codes.find(operator),
      () => codes.findUnused(operator),
      () => codes.redeem(operator),
      () => families.find(operator),
      () => families.rotate(operator, rotation),
      () => families.rotate(id, { ...rotation, presented: operator }),
      () => families.rotate(id, { presented: operator, idleTtlSeconds: 100 }),
      () => families.rotate(id, { ...rotation, successor: { hash: operator, salt: 's' } }),
      () => families.remove(operator),
      () => store.records('clients').find(operator),
      () => store.records('clients').remove(operator),
      () => store.records('clients').list(operator, 10),
      () => store.revocations('revocations').isRevoked([operator]),
      () => store.replayGuard('replays').claim('n', operator, 60),
      () => createAttemptLimiter(store.counters('counters')).clear('n', operator),
      () => store.deviceCodes('device_codes').poll(operator),
      () => store.deviceCodes('device_codes').decide(operator, 'denied'),
    ])
      await expect(call(), call.toString()).rejects.toThrow(TypeError)
    expect(await families.find(id)).toMatchObject({ current: 'h1' })
  })

  describe('documents of other versions (F33)', () => {
    const insert = (collection: string, document: Document) => db.collection(collection).insertOne(document)
    const stored = (collection: string, _id: string) => db.collection<{ _id: string }>(collection).findOne({ _id })
    const expireAt = () => new Date(Date.now() + 60_000)

    it('are read, and keep what this version does not know', async () => {
      const _id = randomUUID()
      const hint = { a: [1] }
      const record = JSON.stringify({ sub: 'alice', later: true })
      await insert('version_codes', { _id, v: 1, record, expireAt: expireAt(), hint })
      await insert('version_clients', { _id, v: 1, record, hint })
      const family = {
        v: 1,
        grant: record,
        current: 'h1',
        absoluteExpiry: Date.now() + 60_000,
        expireAt: expireAt(),
        hint,
      }
      await insert('version_families', { _id, ...family })
      const won = await store.oneTime('version_codes').redeem(_id)
      expect(won).toEqual({ outcome: 'won', record: { sub: 'alice', later: true } })
      expect(await stored('version_codes', _id)).toMatchObject({ hint, record, redeemed: true })
      expect((await store.refreshFamilies('version_families').rotate(_id, rotation)).outcome).toBe('won')
      expect(await stored('version_families', _id)).toMatchObject({ hint, grant: record, current: 'h2' })
      await store.records('version_clients').put(_id, { sub: 'bob' })
      expect(await stored('version_clients', _id)).toMatchObject({ hint, record: '{"sub":"bob"}' })
      const [userCode, stamp] = [randomUUID(), Date.now()]
      await store.deviceCodes('version_devices').start(_id, { userCode, request: {}, intervalSeconds: 5 }, 100)
      await db.collection('version_devices').updateMany({}, { $set: { hint } })
      await store.deviceCodes('version_devices').poll(_id)
      const devices = await db.collection('version_devices').find().toArray()
      for (const document of devices) expect(document).toMatchObject({ hint })
      expect(devices.some(({ record: text }) => (JSON.parse(String(text)) as Document)['polledAt'] >= stamp)).toBe(true)
    })

    it.each([
      ['of a later version', { v: 2 }],
      ['without a version', {}],
    ])('are not guessed at when they are %s', async (_, version) => {
      const _id = randomUUID()
      const common = { _id, ...version, expireAt: expireAt(), record: '{"a":1}' }
      await insert('later_codes', common)
      await insert('later_clients', common)
      const family = { grant: '{}', current: 'h1', absoluteExpiry: Date.now() + 60_000 }
      await insert('later_families', { ...common, ...family })
      const codes = store.oneTime('later_codes')
      const families = store.refreshFamilies('later_families')
      for (const call of [
        () => codes.find(_id),
        () => codes.redeem(_id),
        () => families.find(_id),
        () => families.rotate(_id, rotation),
        () => store.records('later_clients').find(_id),
        () => store.records('later_clients').put(_id, {}),
        () => store.records('later_clients').list(undefined, 10),
      ])
        await expect(call(), call.toString()).rejects.toSatisfy(
          (error) => error instanceof Unavailable && error.applied === 'no',
        )
      expect(await stored('later_codes', _id)).toEqual(common)
      expect(await stored('later_clients', _id)).toEqual(common)
      expect(await stored('later_families', _id)).toEqual({ ...common, ...family })
      for (const name of ['later_codes', 'later_clients', 'later_families']) await db.collection(name).deleteMany({})
    })
  })

  it('answers a ping by a write, in one round trip', async () => {
    await store.ping(AbortSignal.timeout(5000))
    expect(bodies()).toMatchObject([{ update: 'health', writeConcern: { w: 'majority' } }])
    await expect(db.collection('health').countDocuments()).resolves.toBe(1)
  })

  it('reports that it is standalone, and what it is', async () => {
    if (process.env['MONGODB_URI'] !== undefined) return
    expect(await store.warnings?.()).toEqual([expect.stringContaining('MongoDB is a standalone server')])
    expect(await store.describe?.()).toBe('MongoDB 4.4.0.0, standalone')
  })
})
