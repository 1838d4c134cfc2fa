import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, vi } from 'vitest'
import type { Clock } from '../../core/clock.js'
import { packageRoot } from '../../core/package-root.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { openMongodb } from '../../stores/mongodb/open-mongodb.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { createMint } from '../support/forge/mint.js'
import { createDeployment, type Answer } from '../support/server/processes.js'
import { withDevices } from '../support/clients/device.js'
import { createFakeClock } from '../support/fake-clock.js'
import { freePort } from '../support/free-port.js'
import { migrateMongo } from '../support/stores/mongo-server/migrate.js'
import { startMongo } from '../support/stores/mongo-server/start.js'
import { startRedis } from '../support/stores/redis/server.js'
import { settleRedis } from '../support/stores/redis/settle.js'
import { describeWith } from '../support/services/describe-with.js'
import { signingClient } from '../support/clients/signing-client.js'
import { createClockClients, resultOf, untilCollected } from '../support/load/clock-clients.js'

// F23: the clock of a process jumps by an hour while it runs: forward, back, and to an hour before it began.

const adapter = fileURLToPath(new URL('../support/stores/watched-lifetimes.ts', import.meta.url))
const hour = 3600

/** Where a process keeps what it keeps; `path` is where an embedded store would be. */
interface Place {
  /** For the adapter, by role. */
  readonly records: (path: string) => object
  readonly ephemeral: (path: string) => object
  /** The records, for the preparation. */
  open(path: string, clock: Clock): Promise<StorageBackend>
  /** Resolves when what has expired by then was collected, where that goes by the clock of the process. */
  collected(path: string, now: number): Promise<void>
}

const args = (file: string): readonly string[] => [
  ...['--import', 'tsx', join(packageRoot, 'dist', 'core', 'main.js')],
  ...['start', '--config', file],
]

const start = async (library: string, place: Place) => {
  const admin = await freePort()
  const deployment = await createDeployment((written) => {
    const { path } = (written['storage'] as { records: { options: { path: string } } }).records.options
    const log = `${path}-lifetimes`
    const devices = withDevices(written)
    return {
      ...devices,
      admin: { host: '127.0.0.1', port: admin },
      clients: [...(devices['clients'] as object[]), signingClient],
      storage: {
        records: { use: adapter, options: { log, ...place.records(path) } },
        ephemeral: { use: adapter, options: { log, ...place.ephemeral(path) } },
      },
    }
  })
  const path = join(deployment.directory, 'store')
  const fake = createFakeClock(library, deployment.directory)
  const clients = createClockClients(deployment.issuer)
  const store = await place.open(path, clients.now)
  const running = await deployment.start(args, fake.env)
  return {
    running,
    clients,
    mint: createMint(store),
    here: clients.at(running.origin),
    isReady: async () => (await fetch(`http://127.0.0.1:${String(admin)}/health/ready`)).status,
    /** The process's clock, and that of all who deal with it. */
    set: (seconds: number) => {
      fake.set(seconds)
      clients.set(seconds)
    },
    collected: () => place.collected(path, clients.now()),
    lifetimes: () => readFileSync(`${path}-lifetimes`, 'utf8').trim().split('\n'),
    [Symbol.asyncDispose]: async () => {
      clients.close()
      await store[Symbol.asyncDispose]()
      await deployment[Symbol.asyncDispose]()
    },
  }
}

const jump = async (library: string, place: Place): Promise<void> => {
  await using server = await start(library, place)
  const { here, mint, clients, set } = server
  const outage = '503 temporarily_unavailable'

  // A busy machine may turn away a sign-in, whose password takes long to hash. That is not about clocks.
  const approved = () => vi.waitFor(() => here.approved(), { timeout: 20_000 })

  /** Nobody needs to know of the jump; an assertion alone may have to wait. */
  const expectGood = async (assertion: readonly string[] = ['200']): Promise<void> => {
    expect(resultOf(await here.machine())).toBe('200')
    expect(resultOf(await here.redeem((await mint.code()).code))).toBe('200')
    const { token } = await mint.refreshToken()
    const rotated = await here.refresh(token)
    expect(resultOf(await here.refresh(String(rotated.body['refresh_token'])))).toBe('200')
    expect(resultOf(await here.poll(await approved()))).toBe('200')
    const prove = async () => resultOf(await here.prove(clients.proof(await here.nonce())))
    const proved = await prove()
    // What the first one finds out, the next one knows.
    expect(proved === outage ? await prove() : proved).toBe('200')
    expect(assertion).toContain(resultOf(await here.present(clients.assertion())))
  }

  const issued = async () => (await here.redeem((await mint.code()).code)).body['access_token']
  const kept = await issued()
  const revoked = await issued()
  expect(resultOf(await here.revoke(revoked))).toBe('200')
  const { code } = await mint.code({}, { ttlSeconds: 600 })
  const assertion = clients.assertion()
  const proof = clients.proof(await here.nonce())
  const device = await approved()
  const { token } = await mint.refreshToken()
  const second = String((await here.refresh(token)).body['refresh_token'])
  for (const answer of [
    await here.refresh(second),
    await here.redeem(code),
    await here.present(assertion),
    await here.prove(proof),
    await here.poll(device),
  ])
    expect(resultOf(answer)).toBe('200')

  /** Refused, or unanswered: never taken once more. */
  const expectNoneTwice = async (): Promise<void> => {
    const unsure = (refusal: string) => expect.toBeOneOf([refusal, outage])
    expect({
      code: resultOf(await here.redeem(code)),
      assertion: resultOf(await here.present(assertion)),
      proof: resultOf(await here.prove(proof)),
      device: resultOf(await here.poll(device)),
      refresh: resultOf(await here.refresh(token)),
      revoked: resultOf(await here.userinfo(revoked)),
    }).toEqual({
      code: '400 invalid_grant',
      assertion: unsure('401 invalid_client'),
      proof: expect.toBeOneOf(['400 invalid_dpop_proof', '400 use_dpop_nonce', outage]),
      device: expect.toBeOneOf(['400 invalid_grant', '400 expired_token', '400 slow_down']),
      refresh: '400 invalid_grant',
      revoked: '401 invalid_token',
    })
  }

  set(hour)
  expect(await server.isReady()).toBe(200)
  await expectGood()
  expect(resultOf(await here.userinfo(kept))).toBe('401 invalid_token')
  await server.collected()
  await expectNoneTwice()

  set(0)
  expect(await server.isReady()).toBe(200)
  await expectNoneTwice()
  await expectNoneTwice()
  expect(resultOf(await here.userinfo(kept))).toBe('200')
  await expectGood(['200', outage])
  // What was forgotten is over.
  set(2 * hour)
  await expectGood()

  set(-hour)
  expect(await server.isReady()).toBe(200)
  await expectNoneTwice()
  expect(resultOf(await here.userinfo(kept))).toBe('401 invalid_token')
  await expectGood(['200', outage])

  set(0)
  await expectNoneTwice()
  expect(resultOf(await here.userinfo(kept))).toBe('200')

  // Jumps in the middle of requests.
  const offsets = [hour, 0, -hour, 10, 2 * hour, -10]
  const seen: Answer[] = []
  const lane = async (): Promise<void> => {
    for (let round = 0; round < 24; round += 1) {
      const nonce = await here.nonce()
      for (const ask of [
        () => here.prove(clients.proof(nonce)),
        () => here.present(clients.assertion()),
        async () => here.redeem((await mint.code()).code),
        async () => here.refresh((await mint.refreshToken()).token),
      ])
        seen.push(await ask())
      if (round % 2 === 0) set(offsets[seen.length % offsets.length]!)
    }
  }
  await Promise.all(Array.from({ length: 8 }, lane))
  for (const answer of seen) if (answer.status >= 500) expect(resultOf(answer)).toBe(outage)
  set(4 * hour)
  await expectGood()
  expect(server.running.output()).not.toMatch(/"status":50[0-24-9]|A request failed"/)
  await server.running.stop('SIGTERM')

  const lifetimes = server.lifetimes()
  expect(lifetimes.filter((line) => !(Number(line.split(' ')[1]) > 0))).toEqual([])
  const verbs = new Set(lifetimes.map((line) => line.split(' ')[0]))
  for (const collection of ['client_assertions', 'dpop_proofs', 'refresh_families', 'revocations', 'device_codes'])
    expect([...verbs].join()).toContain(`${collection}.`)
  const counts = new Map<string, number>()
  for (const answer of seen) counts.set(resultOf(answer), (counts.get(resultOf(answer)) ?? 0) + 1)
  console.log(`${String(lifetimes.length)} lifetimes, none below zero; amid jumps`, Object.fromEntries(counts))
}

describeWith('faketime', 'a clock that jumps by an hour, on the embedded store', (library) => {
  it('causes 503 at worst, and accepts nothing twice', { timeout: 120_000 }, () =>
    jump(library, {
      records: (path) => ({ embedded: { path } }),
      ephemeral: (path) => ({ embedded: { path } }),
      open: (path, clock) => openEmbedded({ path, clock }),
      collected: untilCollected,
    }),
  )
})

describeWith(['faketime', 'mongodb', 'redis'], 'a clock that jumps by an hour, on MongoDB and Redis', (library) => {
  it('causes 503 at worst, and accepts nothing twice', { timeout: 120_000 }, async () => {
    await using mongo = await startMongo()
    await using redis = await startRedis()
    const { database } = mongo
    await migrateMongo(mongo.uri(), database)
    const place = { uri: redis.uri(), key_prefix: 'jumps:' }
    await settleRedis(place)
    await jump(library, {
      records: () => ({ mongodb: { uri: mongo.uri(), database } }),
      ephemeral: () => ({ redis: place }),
      open: (_, clock) => openMongodb({ uri: mongo.uri(), database, clock }),
      collected: () => Promise.resolve(),
    })
  })
})
