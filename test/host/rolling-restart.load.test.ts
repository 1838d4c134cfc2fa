import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { JSONWebKeySet } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { verifyAudit } from '../../core/observe/audit-verify.js'
import { readLines } from '../../core/operate/json-records.js'
import { openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'
import { freePort } from '../support/free-port.js'
import { hasIssued, startHaproxy, type Replica } from '../support/server/haproxy.js'
import { auditBooks } from '../support/load/ledger/audit-books.js'
import { startMongo, type TestMongo } from '../support/stores/mongo-server/start.js'
import { startTestRedis, type TestRedis } from '../support/stores/redis/store.js'
import { testConfiguration } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { createMixedLoad, type MixedLoad } from '../support/load/mixed-load.js'

// F31: two replicas that share MongoDB and Redis and nothing else, as on two hosts, are restarted in turn behind haproxy,
// SIGNET_RESTARTS times, under SIGNET_FAULT_RATE requests a second.

const restarts = Number(process.env['SIGNET_RESTARTS'] ?? 2)
const perSecond = Number(process.env['SIGNET_FAULT_RATE'] ?? 50)
/** What is shown once more after each stop. */
const replays = 50
const adminToken = 'token-of-the-admin-listener'
const file = 'signet.yaml'

/** What one host has: a folder, and the replica that runs in it. */
interface Host extends Replica {
  readonly cli: CommandLine
  /** All that ran, the one that runs last. */
  readonly services: Service[]
}

describeWith(['haproxy', 'mongodb', 'redis'], 'two replicas over MongoDB and Redis', (haproxy) => {
  let mongo: TestMongo
  let redis: TestRedis
  let hosts: readonly [Host, Host]
  let issuer: string

  const opened: AsyncDisposable[] = []
  const keep = <T extends AsyncDisposable>(one: T): T => {
    opened.push(one)
    return one
  }
  const openHost = async (name: string): Promise<Host> => {
    const cli = keep(await openCommandLine())
    return { name, port: await freePort(), adminPort: await freePort(), cli, services: [] }
  }
  const configurationOf = ({ cli: { folder }, port, adminPort }: Host): string =>
    stringify({
      ...testConfiguration(folder, port),
      issuer,
      admin: { host: '127.0.0.1', port: adminPort, token: adminToken },
      trusted_proxies: ['127.0.0.1/32'],
      storage: {
        records: { use: 'mongodb', options: { uri: mongo.uri(), database: mongo.database } },
        ephemeral: { use: 'redis', options: { uri: redis.uri, key_prefix: redis.prefix } },
      },
      // What was issued first is verified at the end.
      access_token_ttl_secs: 86_400,
      id_token_ttl_secs: 86_400,
      shutdown: { delay_secs: 4 },
    })
  const start = async ({ cli, services }: Host) => {
    services.push(await cli.serve(['start', '--config', file]))
  }

  beforeAll(async () => {
    mongo = keep(await startMongo())
    redis = keep(await startTestRedis())
    hosts = [await openHost('one'), await openHost('two')]
    const port = await freePort()
    issuer = `http://127.0.0.1:${port}`
    for (const host of hosts) await host.cli.write(file, configurationOf(host))
    const [one, two] = hosts
    const { code, stderr } = await one.cli.run(['migrate', '--config', file])
    expect(code, stderr).toBe(0)
    await start(one)
    await cp(join(one.cli.folder, 'keys'), join(two.cli.folder, 'keys'), { recursive: true })
    await start(two)
    keep(startHaproxy(haproxy, { port, replicas: hosts, adminToken }))
  })
  afterAll(async () => {
    for (const each of opened.reverse()) await each[Symbol.asyncDispose]()
  })

  /** Requests reach it when it has issued a token. */
  const isIn = (host: Host) => expect.poll(() => hasIssued(host, adminToken), { timeout: 30_000 }).toBe(true)
  const stop = async ({ services }: Host) => {
    const service = services.at(-1)
    service?.child.kill('SIGTERM')
    expect(await service?.ended).toBe(0)
  }
  const errors = () =>
    hosts.flatMap(({ services }) =>
      services.flatMap((service) => service.output().match(/^.*"level":"(?:error|fatal)".*$/gm) ?? []),
    )
  const expectNoFailure = ({ failures }: MixedLoad) => {
    expect({ failures, errors: errors() }).toEqual({ failures: [], errors: [] })
  }
  const restartInTurn = async (load: MixedLoad) => {
    for (let done = 0; done < restarts; done++) {
      const host = hosts[done % 2]!
      await stop(host)
      // What it has accepted the other one knows.
      await load.replay(replays)
      await start(host)
      await isIn(host)
      expectNoFailure(load)
    }
  }

  it(
    `lose no request in ${restarts} restarts under ${perSecond} requests a second`,
    async () => {
      const load = createMixedLoad(issuer)
      const readKeys = async () => (await (await fetch(`${issuer}/jwks.json`)).json()) as JSONWebKeySet
      await expect.poll(() => readKeys().catch(() => undefined), { timeout: 20_000 }).toHaveProperty('keys')
      const keySet = await readKeys()
      await load.begin(perSecond)
      const [before, begun] = [load.sent(), performance.now()]
      const restarting = Promise.all(hosts.map(isIn)).then(() => restartInTurn(load))
      await load.run(perSecond, restarting)
      await restarting
      const seconds = (performance.now() - begun) / 1000
      const sent = load.sent() - before
      for (const host of hosts) await stop(host)

      const times = [...load.took.values()].flat().toSorted((one, other) => one - other)
      const at = (share: number) => Math.round(times[Math.ceil(share * times.length) - 1] ?? 0)
      console.log(
        `${restarts} restarts in ${Math.round(seconds)} s: ${sent} requests, ${Math.round(sent / seconds)} a second, ` +
          `${load.failures.length} failed; p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms`,
        Object.fromEntries([...load.took].map(([kind, { length }]) => [kind, length])),
      )
      expectNoFailure(load)
      const audit: Record<string, unknown>[] = []
      for (const { cli, services } of hosts) {
        const auditFile = join(cli.folder, 'audit.jsonl')
        const { writers, faults } = await verifyAudit([readLines(auditFile)])
        expect({ writers: writers.length, faults }).toEqual({ writers: services.length, faults: [] })
        for await (const line of readLines(auditFile)) audit.push(JSON.parse(line) as Record<string, unknown>)
      }
      expect(await auditBooks({ ledger: load.ledger, audit, keySet, issuer })).toEqual([])
    },
    90_000 + restarts * 40_000,
  )
})
