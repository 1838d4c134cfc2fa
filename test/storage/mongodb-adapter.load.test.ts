import { randomUUID } from 'node:crypto'
import { MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createAttemptLimiter } from '../../core/storage/attempts.js'
import { openMongodb } from '../../stores/mongodb/open-mongodb.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { Unavailable } from '../../core/unavailable.js'
import { mongoMessageLength, openFaultProxy, type FaultProxy } from '../support/stores/fault-proxy.js'
import { commandOf, editReply } from '../support/stores/mongo-server/messages.js'
import { startMongo, type TestMongo } from '../support/stores/mongo-server/start.js'
import { describeWith } from '../support/services/describe-with.js'

// What the adapter makes of a server that is gone, deaf, slow or a liar (F07 to F12), call by call.

describeWith('mongodb', 'storage on a MongoDB that fails', () => {
  let server: TestMongo
  let proxy: FaultProxy
  let store: StorageBackend
  /** Past the proxy: what is really so. */
  let truth: StorageBackend
  let now = Date.now()
  const clock = () => now

  beforeAll(async () => {
    server = await startMongo()
    proxy = await openFaultProxy({ host: server.host, port: server.port, messageLength: mongoMessageLength })
    const open = (uri: string) =>
      openMongodb({ uri, database: server.database, clock, component: 'storage.records', max_pool_size: 8 })
    store = await open(server.uri(proxy.port))
    truth = await open(server.uri())
  })
  afterEach(async () => {
    await proxy.heal()
    await expect.poll(() => answers(() => store.ping(AbortSignal.timeout(1000))), { timeout: 5000 }).toBe(true)
  })
  afterAll(async () => {
    await store[Symbol.asyncDispose]()
    await truth[Symbol.asyncDispose]()
    await proxy[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  const answers = async (call: () => Promise<unknown>) => {
    try {
      await call()
      return true
    } catch {
      return false
    }
  }

  /** How a call fails, and long before the half minute of the driver: 0.8 s, and what a busy machine adds. */
  const failureOf = async (call: Promise<unknown>): Promise<Unavailable> => {
    const begun = performance.now()
    const error: unknown = await call.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(performance.now() - begun).toBeLessThan(2000)
    expect(error).toBeInstanceOf(Unavailable)
    expect((error as Unavailable).component).toBe('storage.records')
    return error as Unavailable
  }

  const codes = (backend = store) => backend.oneTime<string>('codes')
  const newCode = async () => {
    const id = randomUUID()
    await codes(truth).put(id, 'r', 60)
    return id
  }
  const newFamily = async () => {
    const id = randomUUID()
    const family = { grant: {}, current: 'h1', absoluteExpiry: clock() + 1_000_000 }
    await truth.refreshFamilies('families').start(id, family, 1000)
    return id
  }
  const rotation = { presented: 'h1', successor: { hash: 'h2', salt: 's2' }, idleTtlSeconds: 1000 }

  /** Every member that a request may meet. */
  const calls = (id: string): readonly (readonly [string, 'read' | 'write', () => Promise<unknown>])[] => [
    ['find', 'read', () => codes().find(id)],
    ['put', 'write', () => codes().put(randomUUID(), 'r', 60)],
    ['redeem', 'write', () => codes().redeem(id)],
    ['rotate', 'write', () => store.refreshFamilies('families').rotate(id, rotation)],
    ['claim', 'write', () => store.replayGuard('replays').claim('n', randomUUID(), 60)],
    ['revoke', 'write', () => store.revocations('revocations').revoke(id, 60)],
    ['isRevoked', 'read', () => store.revocations('revocations').isRevoked([id])],
    ['record find', 'read', () => store.records('clients').find(id)],
    ['record put', 'write', () => store.records('clients').put(id, {})],
    ['record list', 'read', () => store.records('clients').list(undefined, 10)],
    ['take', 'read', () => createAttemptLimiter(store.counters('counters')).take('n', id, policy)],
    ['poll', 'read', () => store.deviceCodes('device_codes').poll(id)],
    ['ping', 'write', () => store.ping(AbortSignal.timeout(5000))],
  ]
  const policy = { free: 1, baseDelaySeconds: 1, maxDelaySeconds: 1, forgetAfterSeconds: 1 }

  it('F07 gone: every call fails in time and nothing was applied, then all is well again', async () => {
    const id = await newCode()
    await proxy.down()
    // The connections that break are the first to tell.
    await Promise.allSettled(calls(id).map(([, , call]) => call()))
    const failures = await Promise.all(calls(id).map(([, , call]) => failureOf(call())))
    expect(failures.map(({ applied }) => applied)).toEqual(failures.map(() => 'no'))
    await proxy.heal()
    await expect.poll(() => answers(() => codes().find(id)), { timeout: 5000 }).toBe(true)
    expect(await codes().redeem(id)).toMatchObject({ outcome: 'won' })
  })

  it('F07 a black hole: every call fails in time, and says when it does not know', async () => {
    const id = await newCode()
    await codes().find(id)
    proxy.faults.blackHole = true
    for (const [name, access, call] of calls(id)) {
      const { applied } = await failureOf(call())
      // Once the monitor knows that the server is gone, nothing is sent to it.
      expect(access === 'read' ? ['no'] : ['no', 'unknown'], name).toContain(applied)
    }
    expect(await codes(truth).redeem(id)).toMatchObject({ outcome: 'won' })
  })

  it('F07 a hundred calls into a black hole hold a bounded number of connections and end in time', async () => {
    const id = await newCode()
    proxy.faults.blackHole = true
    await Promise.all(Array.from({ length: 100 }, () => failureOf(codes().find(id))))
    // The pool, and the monitor's two.
    expect(proxy.connections()).toBeLessThanOrEqual(8 + 2)
  })

  it('F08 a connection cut in mid-command: the outcome is unknown, and one attempt more wins or is a replay', async () => {
    const outcomes = new Set<string>()
    for (const fate of ['cut', 'lose-reply'] as const) {
      const id = await newCode()
      let struck = false
      proxy.faults.onRequest = (message) => {
        if (struck || commandOf(message) !== 'findAndModify') return 'forward'
        struck = true
        return fate
      }
      expect((await failureOf(codes().redeem(id))).applied).toBe('unknown')
      expect(struck).toBe(true)
      await expect.poll(() => answers(() => codes().find(id)), { timeout: 5000 }).toBe(true)
      outcomes.add(`${fate}: ${(await codes().redeem(id)).outcome}`)
    }
    expect(outcomes).toEqual(new Set(['cut: won', 'lose-reply: replayed']))
  })

  it('F08 a read that meets a primary that stops being one, or a cut connection, is asked once more and no oftener', async () => {
    const id = await newCode()
    const notPrimary = { ok: 0, code: 10107, codeName: 'NotWritablePrimary', errmsg: 'not primary' }
    for (const fate of ['cut', 'not primary'] as const) {
      for (const times of [1, 2]) {
        let struck = 0
        proxy.faults.onRequest = (message) =>
          fate === 'cut' && commandOf(message) === 'find' && struck < times && ++struck > 0 ? 'cut' : 'forward'
        proxy.faults.onReply = (reply) =>
          editReply(reply, (document) =>
            fate === 'not primary' && 'cursor' in document && struck < times && ++struck > 0 ? notPrimary : document,
          )
        const found = codes().find(id)
        if (times === 1) expect(await found).toBe('r')
        else await failureOf(found)
        expect(struck).toBe(times)
        await proxy.heal()
        await expect.poll(() => answers(() => store.ping(AbortSignal.timeout(1000))), { timeout: 5000 }).toBe(true)
      }
    }
  })

  it.each([
    [10107, 'NotWritablePrimary', 'no'],
    [189, 'PrimarySteppedDown', 'unknown'],
    [11602, 'InterruptedDueToReplStateChange', 'unknown'],
    [13, 'Unauthorized', 'no'],
    [18, 'AuthenticationFailed', 'no'],
    [91, 'ShutdownInProgress', 'unknown'],
  ])('F08 code %i, %s: applied is %s to a write', async (code, codeName, applied) => {
    const id = await newCode()
    proxy.faults.onReply = (reply) =>
      editReply(reply, (document) =>
        'lastErrorObject' in document ? { ok: 0, code, codeName, errmsg: codeName } : document,
      )
    expect((await failureOf(codes().redeem(id))).applied).toBe(applied)
  })

  it('F09 a write concern error with ok: 1 is an unknown outcome, whatever was written', async () => {
    const id = await newCode()
    const family = await newFamily()
    const writeConcernError = { code: 64, codeName: 'WriteConcernFailed', errmsg: 'waiting for replication timed out' }
    proxy.faults.onReply = (reply) =>
      editReply(reply, (document) =>
        'lastErrorObject' in document || 'n' in document ? { ...document, writeConcernError } : document,
      )
    for (const call of [
      () => codes().redeem(id),
      () => codes().put(randomUUID(), 'r', 60),
      () => store.refreshFamilies('families').rotate(family, rotation),
      () => store.replayGuard('replays').claim('n', randomUUID(), 60),
      () => store.revocations('revocations').revoke(id, 60),
      () => store.records('clients').put(id, {}),
      () => store.records('clients').remove(id),
      () => store.refreshFamilies('families').remove(family),
      () => createAttemptLimiter(store.counters('counters')).take('n', id, policy),
    ]) {
      const failure = await failureOf(call())
      expect(failure.applied, failure.message).toBe('unknown')
    }
  })

  it('F10 the reply to a rotation is lost: the same retry is a replay that names the same successor', async () => {
    const family = await newFamily()
    proxy.faults.onRequest = (message) => (commandOf(message) === 'findAndModify' ? 'lose-reply' : 'forward')
    const families = store.refreshFamilies('families')
    expect((await failureOf(families.rotate(family, rotation))).applied).toBe('unknown')
    await proxy.heal()
    await expect.poll(() => answers(() => families.find(family)), { timeout: 5000 }).toBe(true)
    const again = { ...rotation, successor: { hash: 'h3', salt: 's3' } }
    expect(await families.rotate(family, again)).toMatchObject({
      outcome: 'replayed',
      record: { current: 'h2', previous: { hash: 'h1', salt: 's2' } },
    })
  })

  it('F11 nothing that has expired is honoured, although nobody collects it', async () => {
    const id = await newCode()
    const family = await newFamily()
    await store.records('sessions').put(id, {}, { ttlSeconds: 60 })
    await store.revocations('revocations').revoke(id, 60)
    await store.replayGuard('replays').claim('n', id, 60)
    now += 1_000_000
    expect(await codes().find(id)).toBeUndefined()
    expect(await codes().redeem(id)).toEqual({ outcome: 'unknown' })
    expect(await store.refreshFamilies('families').rotate(family, rotation)).toEqual({ outcome: 'unknown' })
    expect(await store.records('sessions').find(id)).toBeUndefined()
    expect(await store.records('sessions').list(undefined, 100)).toEqual([])
    expect(await store.revocations('revocations').isRevoked([id])).toBe(false)
    expect(await store.replayGuard('replays').claim('n', id, 60)).toBe(true)
    const client = await MongoClient.connect(server.uri())
    expect(await client.db(server.database).collection('codes').countDocuments()).toBeGreaterThan(0)
    await client.close()
  })

  describe('F12 indexes', () => {
    it('are missing by name until they are made, and when one is dropped or is another', async () => {
      const client = await MongoClient.connect(server.uri())
      const db = client.db(server.database)
      const open = () => openMongodb({ uri: server.uri(), database: server.database, clock })
      await using backend = await open()
      backend.oneTime('index_codes')
      backend.records('index_clients')
      const check = () => backend.schema!.check()
      await expect(check()).rejects.toThrow(
        'the index signet_expire_at of index_clients is missing; the index signet_expire_at of index_codes is missing',
      )
      expect(await backend.schema!.migrate()).toEqual([
        'index_clients: created the index signet_expire_at',
        'index_codes: created the index signet_expire_at',
      ])
      await check()
      expect(await backend.schema!.migrate()).toEqual([])
      const codes = db.collection('index_codes')
      // The stand-in drops indexes of one name in all collections.
      await using other = await open()
      other.oneTime('index_codes')
      const checkOther = () => other.schema!.check()
      await codes.dropIndex('signet_expire_at')
      await expect(checkOther()).rejects.toThrow('signet_expire_at of index_codes is missing')
      await codes.createIndex({ expireAt: 1 }, { name: 'signet_expire_at', expireAfterSeconds: 3600 })
      await expect(checkOther()).rejects.toThrow('signet_expire_at of index_codes is not as it should be')
      expect(await other.schema!.migrate()).toEqual(['index_codes: recreated the index signet_expire_at'])
      expect((await codes.indexes()).find(({ name }) => name === 'signet_expire_at')).toMatchObject({
        key: { expireAt: 1 },
        expireAfterSeconds: 0,
      })
      await client.close()
    })

    it('may take longer to make than any request may wait', async () => {
      await using backend = await openMongodb({ uri: server.uri(proxy.port), database: server.database, clock })
      backend.oneTime('large_codes')
      await backend.ping(AbortSignal.timeout(5000))
      proxy.faults.onRequest = (message) => {
        if (commandOf(message) === 'createIndexes') proxy.faults.latencyMs = 1500
        return 'forward'
      }
      proxy.faults.onReply = (reply) => {
        proxy.faults.latencyMs = 0
        return reply
      }
      expect(await backend.schema!.migrate()).toEqual(['large_codes: created the index signet_expire_at'])
    })
  })
})
