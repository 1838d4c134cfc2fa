import { beforeAll, describe, expect, it } from 'vitest'
import { openMongodb } from '../../stores/mongodb/open-mongodb.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { startTokenServer } from '../support/server/token-server.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { mongoMessageLength, openFaultProxy, type FaultProxy } from '../support/stores/fault-proxy.js'
import { auditServer } from '../support/load/ledger/audit-books.js'
import { Ledger } from '../support/load/ledger/ledger.js'
import { migrateMongo } from '../support/stores/mongo-server/migrate.js'
import { startMongo } from '../support/stores/mongo-server/start.js'
import { startRedis } from '../support/stores/redis/server.js'
import { inBothRoles } from '../support/stores/failing-store.js'
import { describeWith } from '../support/services/describe-with.js'
import { newAssertion, signedForm, signingClient } from '../support/clients/signing-client.js'
import { expectNoHarm, startStoresLoad, type StoresLoad } from '../support/load/stores-load.js'

// Records on MongoDB and the rest on Redis: each store killed, cut off and hung under SIGNET_FAULT_RATE mixed requests a second,
// judged by the ledger; the ledger itself by builds in which a store is not what it should be.

const perSecond = Number(process.env['SIGNET_FAULT_RATE'] ?? 50)
const faultMs = 2000

const faults: readonly (readonly [string, (proxy: FaultProxy) => Promise<void>])[] = [
  ['killed', (proxy) => proxy.down()],
  ['cut off', async (proxy) => proxy.cut()],
  [
    'hung',
    async ({ faults: state }) => {
      state.blackHole = true
    },
  ],
]

describeWith(['mongodb', 'redis'], 'two stores that fail under load', () => {
  const keep = disposeAfterAll()
  let load: StoresLoad
  const proxies = new Map<'MongoDB' | 'Redis', FaultProxy>()

  beforeAll(async () => {
    const mongo = keep(await startMongo())
    const redis = keep(await startRedis())
    const { host, port, database } = mongo
    const mongoProxy = keep(await openFaultProxy({ host, port, messageLength: mongoMessageLength }))
    const redisProxy = keep(await openFaultProxy({ port: redis.port }))
    proxies.set('MongoDB', mongoProxy).set('Redis', redisProxy)
    await migrateMongo(mongo.uri(), database)
    const starting = startStoresLoad({
      options: { uri: redis.uri(redisProxy.port) },
      records: {
        section: { use: 'mongodb', options: { uri: mongo.uri(mongoProxy.port), database } },
        open: (clock) => openMongodb({ uri: mongo.uri(), database, clock }),
      },
    })
    load = keep(await starting)
  })

  const served = () => [...load.answers].reduce((sum, [kind, count]) => (kind.endsWith(' 200') ? sum + count : sum), 0)

  describe.each(['MongoDB', 'Redis'] as const)('%s', (name) => {
    it.each(faults)('%s: 503 at worst, and ready again by itself', { timeout: 60_000 }, async (kind, strike) => {
      await expect.poll(() => load.ready(), { timeout: 10_000 }).toBe(true)
      await load.stock(perSecond)
      await load.run(perSecond, 500)
      const before = served()
      const proxy = proxies.get(name)!
      const running = load.run(perSecond, faultMs)
      await strike(proxy)
      await running
      // Who needs nothing of that store goes on.
      expect(served()).toBeGreaterThan(before)
      await proxy.heal()
      const healed = performance.now()
      await expect.poll(() => load.ready(), { timeout: 5000, interval: 20 }).toBe(true)
      const readyAfter = Math.round(performance.now() - healed)
      await expect.poll(() => load.ask('refresh'), { timeout: 5000 }).toBe(200)
      await expect.poll(() => load.ask('proof'), { timeout: 5000 }).toBe(200)
      await load.run(perSecond, 500)
      const finished = await load.finish()
      await expectNoHarm(load)
      // Its ways to a store and back wait for the machine each time, as one who needs no store does once.
      expect(load.slowest()).toBeLessThan(1000 + 2 * load.noise())
      console.log(
        `${name} ${kind}: ${String(load.ledger.entries.length)} requests so far, slowest answer ${String(Math.round(load.slowest()))} ms, ` +
          `ready again after ${String(readyAfter)} ms; of interrupted codes ${String(finished.late)} redeemed late, ` +
          `${String(finished.lost)} lost with the answer`,
        Object.fromEntries(load.answers),
      )
    })
  })
})

describe('the ledger detects a build', () => {
  /** Codes and assertions are shown several times, and a code after its time. */
  const judge = async (store: (sound: StorageBackend) => StorageBackend): Promise<readonly string[]> => {
    await using host = await startTokenServer({
      doubles: { stores: inBothRoles(store) },
      configure: (written) => ({ ...written, clients: [...(written['clients'] as object[]), signingClient] }),
    })
    const ledger = new Ledger()
    const times = Array.from({ length: 4 })
    const { code } = await host.mint.code()
    await Promise.all(times.map(() => ledger.ask({ once: 'a code', honest: false }, () => host.redeem(code))))
    const signed = signedForm(newAssertion(host.server.issuer, host.now()))
    await Promise.all(times.map(() => ledger.ask({ once: 'an assertion', honest: false }, () => host.token(signed))))
    const { code: late } = await host.mint.code()
    await ledger.ask({ honest: false, never: true }, () => host.redeem(late, { code_verifier: 'x'.repeat(43) }))
    host.later(61_000)
    await ledger.ask({ honest: false, never: true }, () => host.redeem(late))
    return await auditServer(ledger, host.server)
  }

  it('except the current one', async () => {
    expect(await judge((sound) => sound)).toEqual([])
  })

  it('that redeems without the predicate', async () => {
    const found = await judge((sound) => ({
      ...sound,
      oneTime: <T>(name: string) => {
        const codes = sound.oneTime<T>(name)
        const redeem = async (id: string) => {
          const record = await codes.find(id)
          return record === undefined ? ({ outcome: 'unknown' } as const) : ({ outcome: 'won', record } as const)
        }
        return { ...codes, redeem }
      },
    }))
    expect(found).toEqual(['a code succeeded 4 times'])
  })

  it('that claims without NX', async () => {
    const found = await judge((sound) => ({ ...sound, replayGuard: () => ({ claim: async () => true }) }))
    expect(found).toEqual(['an assertion succeeded 4 times'])
  })

  it('that does not look at expiry', async () => {
    const seen = new Map<string, unknown>()
    const found = await judge((sound) => ({
      ...sound,
      oneTime: <T>(name: string) => {
        const codes = sound.oneTime<T>(name)
        const remembering = (find: (id: string) => Promise<T | undefined>) => async (id: string) => {
          const record = (await find(id)) ?? (seen.get(id) as T | undefined)
          if (record !== undefined) seen.set(id, record)
          return record
        }
        const redeem = async (id: string) => {
          const redemption = await codes.redeem(id)
          const record = redemption.outcome === 'unknown' ? (seen.get(id) as T | undefined) : undefined
          return record === undefined ? redemption : ({ outcome: 'won', record } as const)
        }
        return { ...codes, find: remembering(codes.find), findUnused: remembering(codes.findUnused), redeem }
      },
    }))
    expect(found).toEqual(['what may not succeed did'])
  })
})
