import { MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { openMongodb } from '../../stores/mongodb/open-mongodb.js'
import { startTokenServer, type Answer, type TokenServer } from '../support/server/token-server.js'
import { freePort } from '../support/free-port.js'
import { mongoMessageLength, openFaultProxy, type FaultProxy } from '../support/stores/fault-proxy.js'
import { commandOf, editReply } from '../support/stores/mongo-server/messages.js'
import { migrateMongo } from '../support/stores/mongo-server/migrate.js'
import { startMongo, type TestMongo } from '../support/stores/mongo-server/start.js'
import { startServer } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

// What clients and operators see while MongoDB fails (F07 to F12, F32).

const storageOf = (uri: string, database: string) => {
  const backend = { use: 'mongodb', options: { uri, database } }
  return { records: backend, ephemeral: backend }
}

describeWith('mongodb', 'a service whose MongoDB fails', () => {
  let mongo: TestMongo
  let proxy: FaultProxy
  let host: TokenServer
  const quiet = { debug() {}, info() {}, warn() {}, error: (...entry: unknown[]) => console.error(...entry) }

  beforeAll(async () => {
    mongo = await startMongo()
    proxy = await openFaultProxy({ host: mongo.host, port: mongo.port, messageLength: mongoMessageLength })
    await migrateMongo(mongo.uri(), mongo.database)
    host = await startTokenServer({
      log: { ...quiet, error() {} },
      configure: (written) => ({ ...written, storage: storageOf(mongo.uri(proxy.port), mongo.database) }),
      openStore: (clock) => openMongodb({ uri: mongo.uri(), database: mongo.database, clock }),
    })
  })
  beforeEach(() => becomesReady(host.server.admin))
  afterEach(async () => {
    await proxy.heal()
    await becomesReady(host.server.admin)
    await expect.poll(() => isGood(), { timeout: 10_000 }).toBe(true)
  })
  afterAll(async () => {
    await host[Symbol.asyncDispose]()
    await proxy[Symbol.asyncDispose]()
    await mongo[Symbol.asyncDispose]()
  })

  interface Health {
    readonly status: string
    readonly components: Readonly<Record<string, { readonly status: string; readonly message?: string }>>
  }
  const readiness = async (admin: string) => (await (await fetch(`${admin}/health/ready`)).json()) as Health
  const faultsOf = async (admin: string) => {
    const { status, components } = await readiness(admin)
    const faults = Object.entries(components).filter(([, health]) => health.status !== 'up')
    return status === 'ready' ? [] : faults
  }
  const becomesReady = (admin: string) =>
    expect.poll(() => faultsOf(admin), { timeout: 20_000, interval: 50 }).toEqual([])

  const isGood = () =>
    host.expectGood().then(
      () => true,
      () => false,
    )

  /** A client that gets 503 asks again. */
  const retried = async (call: () => Promise<Answer>): Promise<readonly Answer[]> => {
    const answers = [await call()]
    while (answers.at(-1)?.status === 503 && answers.length < 300) answers.push(await call())
    return answers
  }

  const successorOf = ({ body }: Answer) => String(body['refresh_token'])

  it.each(['gone', 'deaf'] as const)(
    'F07 %s: 503 in time, nothing is consumed, requests without the store succeed, and readiness returns by itself',
    async (fault) => {
      const minted = await Promise.all(Array.from({ length: 20 }, () => host.mint.code()))
      const families = await Promise.all(Array.from({ length: 20 }, () => host.mint.refreshToken()))
      if (fault === 'gone') await proxy.down()
      else proxy.faults.blackHole = true

      const timed = async (call: Promise<Answer>) => {
        const begun = performance.now()
        const answer = await call
        return { status: answer.status, retry: answer.headers.get('retry-after'), took: performance.now() - begun }
      }
      const answers = await Promise.all([
        ...minted.map(({ code }) => timed(host.redeem(code))),
        ...families.map(({ token }) => timed(host.refresh(token))),
      ])
      for (const { status, retry, took } of answers) {
        expect(status).toBe(503)
        expect(retry).toMatch(/^[1-9]\d?$/)
        // The driver's own limit is half a minute.
        expect(took).toBeLessThan(4000)
      }
      for (const path of ['/jwks.json', '/.well-known/openid-configuration'])
        expect((await fetch(host.server.issuer + path)).status).toBe(200)
      await expect.poll(async () => (await readiness(host.server.admin)).status, { timeout: 6000 }).toBe('not ready')

      await proxy.heal()
      await becomesReady(host.server.admin)
      const after = await Promise.all([
        ...minted.map(({ code }) => retried(() => host.redeem(code))),
        ...families.map(({ token }) => retried(() => host.refresh(token))),
      ])
      expect(after.map((attempts) => attempts.at(-1)?.status)).toEqual(after.map(() => 200))
    },
  )

  it('F08 connections are cut again and again under load: 200 or 503, no code twice, every family lives', async () => {
    const codes: string[] = []
    const first: string[] = []
    while (codes.length < 100) codes.push((await host.mint.code()).code)
    while (first.length < 30) first.push((await host.mint.refreshToken()).token)
    const refreshTwice = async (token: string) => {
      let current = token
      for (let turn = 0; turn < 2; turn++) {
        const answer = (await retried(() => host.refresh(current))).at(-1)!
        expect(answer.status).toBe(200)
        current = successorOf(answer)
      }
      return current
    }
    let left = 5
    const cuts = setInterval(() => left-- > 0 && proxy.cut(), 500)
    const load = Promise.all([
      Promise.all(codes.map((code) => retried(() => host.redeem(code)))),
      Promise.all(first.map(refreshTwice)),
    ])
    const [redeemed, tokens] = await load.finally(() => clearInterval(cuts))
    for (const answers of redeemed) {
      expect([200, 503]).toContain(answers[0]?.status)
      expect([200, 400]).toContain(answers.at(-1)?.status)
      // Invalid only for one whose earlier outcome nobody knew.
      if (answers.at(-1)?.status === 400) expect(answers.length).toBeGreaterThan(1)
    }
    await proxy.heal()
    await becomesReady(host.server.admin)
    for (const token of tokens) expect((await retried(() => host.refresh(token))).at(-1)?.status).toBe(200)
  })

  it('F09 a write concern error with ok: 1 is a 503, never tokens', async () => {
    const { code } = await host.mint.code()
    const { token } = await host.mint.refreshToken()
    const writeConcernError = { code: 64, codeName: 'WriteConcernFailed', errmsg: 'waiting for replication timed out' }
    proxy.faults.onReply = (reply) =>
      editReply(reply, (document) => ('lastErrorObject' in document ? { ...document, writeConcernError } : document))
    expect((await host.redeem(code)).status).toBe(503)
    expect((await host.refresh(token)).status).toBe(503)
    await proxy.heal()
    // The write was made after all: the honest retry of a refresh gets what it was owed.
    expect((await retried(() => host.refresh(token))).at(-1)?.status).toBe(200)
  })

  it('F10 the reply is lost after the commit: at most one set of tokens, and a retried refresh goes on', async () => {
    const { code } = await host.mint.code()
    const { token } = await host.mint.refreshToken()
    proxy.faults.onRequest = (message) => (commandOf(message) === 'findAndModify' ? 'lose-reply' : 'forward')
    expect((await host.redeem(code)).status).toBe(503)
    expect((await host.refresh(token)).status).toBe(503)
    await proxy.heal()
    await becomesReady(host.server.admin)
    const again = async () => (await retried(() => host.refresh(token))).at(-1)!
    const twice = await Promise.all([again(), again()])
    expect(twice.map(({ status }) => status)).toEqual([200, 200])
    const [one = '', other] = twice.map(successorOf)
    expect(one).toBe(other)
    expect((await retried(() => host.refresh(one))).at(-1)?.status).toBe(200)
    expect((await retried(() => host.redeem(code))).at(-1)?.body['error']).toBe('invalid_grant')
  })

  it('F12 an index is dropped while it runs: not ready within a minute, naming it, until it is made', async () => {
    const client = await MongoClient.connect(mongo.uri())
    await client.db(mongo.database).collection('codes').dropIndex('signet_expire_at')
    expect((await readiness(host.server.admin)).status).toBe('ready')
    host.later(61_000)
    const missing = async () => (await readiness(host.server.admin)).components['storage.records.indexes']?.message
    await expect.poll(missing, { timeout: 6000 }).toContain('the index signet_expire_at of codes is missing')
    await migrateMongo(mongo.uri(), mongo.database)
    await becomesReady(host.server.admin)
    await client.close()
  })

  it('F12 serves no request before it is migrated, names what is missing, and starts by itself as soon as it is', async () => {
    const database = `${mongo.database}_new`
    const adminPort = await freePort()
    const warnings: [message: string, fields: JsonObject | undefined][] = []
    const starting = startServer({
      log: { ...quiet, warn: (message, fields) => void warnings.push([message, fields]) },
      configure: (written) => ({
        ...written,
        admin: { host: '127.0.0.1', port: adminPort },
        storage: storageOf(mongo.uri(), database),
      }),
    })
    const admin = `http://127.0.0.1:${adminPort}`
    const live = () =>
      fetch(`${admin}/health/live`).then(
        ({ status }) => status,
        () => undefined,
      )
    await expect.poll(live, { timeout: 20_000 }).toBe(200)
    await expect
      .poll(async () => (await readiness(admin)).components['storage.records.indexes']?.message)
      .toMatch(/signet_expire_at of codes is missing; .*of refresh_families is missing/)
    const { status, components } = await readiness(admin)
    expect(status).toBe('not ready')
    expect(components['start']).toEqual({ status: 'down', message: 'waiting for storage.records' })
    const waiting = warnings.find(([message]) => message === 'Startup is waiting for a store')
    // A machine that is held up may not have come as far as the indexes when it was asked first; readiness names them above.
    expect(waiting?.[1]?.['message']).toMatch(/signet_expire_at of codes is missing.*; run signet migrate$|^Timed out/)
    expect((await fetch(`${waiting?.[1]?.['public'] as string}/token`, { method: 'POST' })).status).toBe(503)
    await migrateMongo(mongo.uri(), database)
    await using server = await starting
    await becomesReady(server.admin)
    await (await MongoClient.connect(mongo.uri())).db(database).dropDatabase()
  })

  it('F32 down at the start: listens, is not ready, refuses, and starts by itself when MongoDB comes', async () => {
    await proxy.down()
    const [port, adminPort] = [await freePort(), await freePort()]
    const warnings: string[] = []
    const starting = startServer({
      log: { ...quiet, error() {}, warn: (message) => void warnings.push(message) },
      configure: (written) => ({
        ...written,
        issuer: `http://127.0.0.1:${port}`,
        listen: { host: '127.0.0.1', port },
        admin: { host: '127.0.0.1', port: adminPort },
        storage: storageOf(mongo.uri(proxy.port), mongo.database),
        keys: [{ kid: 'other', alg: 'ES256', signer: 'local', ref: 'es256.pem', allow_early: true }],
      }),
    })
    const admin = `http://127.0.0.1:${adminPort}`
    const statusOf = (url: string) =>
      fetch(url).then(
        (response) => response.status,
        () => undefined,
      )
    await expect.poll(() => statusOf(`${admin}/health/live`), { timeout: 20_000 }).toBe(200)
    const { status, components } = await readiness(admin)
    expect(status).toBe('not ready')
    expect(components['start']).toEqual({ status: 'down', message: 'waiting for storage.records' })
    expect(warnings).toContain('Startup is waiting for a store')
    const metrics = await (await fetch(`${admin}/metrics`)).text()
    for (const series of ['signet_ready', 'signet_component_up{component="start"}'])
      expect(metrics).toContain(`\n${series} 0\n`)
    for (const path of ['/token', '/jwks.json', '/authorize'])
      expect(await statusOf(`http://127.0.0.1:${port}${path}`)).toBe(path === '/token' ? 405 : 503)
    await proxy.up()
    await using server = await starting
    await becomesReady(server.admin)
    expect(await statusOf(`${server.issuer}/jwks.json`)).toBe(200)
  })
})
