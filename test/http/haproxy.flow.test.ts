import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../support/free-port.js'
import { hasIssued, haproxyEnvironment, haproxyFile, startHaproxy, type Replica } from '../support/server/haproxy.js'
import { describeWith } from '../support/services/describe-with.js'
import { openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

const adminToken = 'token-of-the-admin-listener'

/** Two replicas of one host, which share the store and the keys of the folder. */
const configurationOf = ({ name, port, adminPort }: Replica, proxyPort: number): string => `
issuer: http://localhost:${proxyPort}
listen: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${adminPort}, token: ${adminToken} }
trusted_proxies: [127.0.0.1/32]
scopes_supported: [api]
id_token_signing_alg: ES256
signers: { local: { use: signers/local, options: { directory: ./keys, create: true } } }
keys: [{ kid: es-1, alg: ES256, signer: local, ref: es-1 }]
plugins: [{ use: plugins/grants/client-credentials }, { use: plugins/client-auth/client-secret }]
storage:
  records: { use: embedded, options: { path: ./store } }
  ephemeral: { use: embedded, options: { path: ./store } }
clients: [{ client_id: reports, client_secret: a-secret-for-this-test-of-256-bits, grant_types: [client_credentials] }]
audit: { file: ./${name}.jsonl }
shutdown: { delay_secs: 4 }
rate_limits: { token: { address_per_minute: 10000000, client_per_minute: 10000000 } }
`

describeWith('haproxy', 'two replicas behind deploy/haproxy.cfg', (haproxy) => {
  let cli: CommandLine
  let replicas: readonly [Replica, Replica]
  const services = new Map<string, Service>()
  let proxyPort: number

  const startReplica = async ({ name }: Replica) => {
    services.set(name, await cli.serve(['start', '--config', `${name}.yaml`]))
  }
  const balancing = (token = adminToken) => ({ port: proxyPort, replicas, adminToken: token })
  const askToken = () =>
    fetch(`http://127.0.0.1:${proxyPort}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa('reports:a-secret-for-this-test-of-256-bits')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })

  /**
   * A replica on a busy machine answers some requests with 503 and its request id, because its event loop is late. Such
   * a request is not lost; a failure behind such an answer would be in the replica's log.
   */
  const isTurnedAway = ({ status, headers }: Response) => status === 503 && headers.has('x-request-id')

  const behindProxy = async (token: string, use: () => Promise<void>) => {
    const proxy = startHaproxy(haproxy, balancing(token))
    try {
      const answers = () =>
        askToken().then(
          ({ status }) => status,
          () => 0,
        )
      await expect.poll(answers, { timeout: 60_000 }).not.toBe(0)
      await use()
    } finally {
      await proxy[Symbol.asyncDispose]()
    }
  }

  beforeAll(async () => {
    cli = await openCommandLine()
    proxyPort = await freePort()
    replicas = [
      { name: 'one', port: await freePort(), adminPort: await freePort() },
      { name: 'two', port: await freePort(), adminPort: await freePort() },
    ]
    for (const replica of replicas) {
      await cli.write(`${replica.name}.yaml`, configurationOf(replica, proxyPort))
      await startReplica(replica)
    }
  })
  afterAll(() => cli[Symbol.asyncDispose]())

  it('is accepted by haproxy', () => {
    const { status, stderr } = spawnSync(haproxy, ['-c', '-f', haproxyFile], {
      env: haproxyEnvironment(balancing()),
      encoding: 'utf8',
    })
    expect(stderr).not.toMatch(/WARNING|ALERT/)
    expect(status).toBe(0)
  })

  it('loses no request while each replica is restarted in turn, under load', async () => {
    await behindProxy(adminToken, async () => {
      let loading = true
      const failures: unknown[] = []
      let tokens = 0
      const load = async () => {
        while (loading) {
          const status = await askToken().then(
            (answer) => answer.arrayBuffer().then(() => (isTurnedAway(answer) ? 'turned away' : answer.status)),
            (error: Error) => String(error.cause),
          )
          if (status === 200) tokens++
          else if (status !== 'turned away') failures.push(status)
        }
      }
      const outputs = [...services.values()].map(({ output }) => output)
      const loaders = Array.from({ length: 8 }, load)
      const more = async (count: number) => {
        const target = tokens + count
        await expect.poll(() => tokens >= target || failures.length > 0, { timeout: 60_000 }).toBe(true)
      }
      for (const replica of replicas) {
        await more(200)
        const service = services.get(replica.name)!
        service.child.kill('SIGTERM')
        expect(await service.ended).toBe(0)
        await more(200)
        await startReplica(replica)
        outputs.push(services.get(replica.name)!.output)
        // It is in again when it has issued a token; the other one goes only then.
        await expect.poll(() => hasIssued(replica, adminToken), { timeout: 60_000 }).toBe(true)
      }
      await more(200)
      loading = false
      await Promise.all(loaders)
      expect(failures).toEqual([])
      for (const output of outputs) expect(output()).not.toContain('A request failed')
      expect(tokens).toBeGreaterThan(1000)
    })
  })

  it('lets the replicas refuse when none is ready', async () => {
    // With a wrong token no replica can say that it is.
    await behindProxy('wrong', async () => {
      await expect.poll(async () => (await askToken()).status, { timeout: 60_000 }).toBe(200)
    })
  })

  it('refuses as Signet does when there is none', async () => {
    for (const { child, ended } of services.values()) {
      child.kill('SIGKILL')
      await ended
    }
    await behindProxy(adminToken, async () => {
      await expect.poll(async () => (await askToken()).status, { timeout: 60_000 }).toBe(503)
      const answer = await askToken()
      expect(answer.headers.get('retry-after')).toBe('2')
      expect(await answer.json()).toEqual({ error: 'temporarily_unavailable' })
    })
  })
})
