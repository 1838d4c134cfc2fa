import { readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyAudit } from '../../core/observe/audit-verify.js'
import { readLines } from '../../core/operate/json-records.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { createMint, verifier } from '../support/forge/mint.js'
import { subject } from '../support/server/server.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

const secret = 'a-secret-for-this-test-of-256-bits'
const redirectUri = 'https://client.example/cb'
const people = `accounts: [{ username: alice, password: correct horse battery staple, sub: '${subject}' }]`
const clients = (...ids: string[]): string =>
  `${ids
    .map((id) => `\n  - { client_id: ${id}, client_secret: ${secret}, grant_types: [client_credentials] }`)
    .join(
      '',
    )}\n  - { client_id: app, token_endpoint_auth_method: none, redirect_uris: ['${redirectUri}'], grant_types: [authorization_code, refresh_token] }`

const serve = async (name: string): Promise<Service> => {
  const backend = `{ use: embedded, options: { path: ./${name} } }`
  const more = `audit: { file: ./${name}.jsonl }\nstorage: { records: ${backend}, ephemeral: ${backend} }`
  await cli.write(`${name}.yaml`, configuration(`${more}\nworkers: 2\n${people}\nclients:${clients('svc')}\n`))
  return cli.serve(['start', '--config', `${name}.yaml`])
}

interface Answer {
  readonly status: number
  readonly body: string
}

/** Over a connection of its own: the workers take turns with connections. */
const post = (service: Service, form: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.public)
    const body = new URLSearchParams(form).toString()
    const type = 'application/x-www-form-urlencoded'
    const asked = request(
      { hostname, port, path: '/token', method: 'POST', agent: false, headers: { 'content-type': type, ...headers } },
      (response) => {
        text(response).then((answer) => resolve({ status: response.statusCode ?? 0, body: answer }), reject)
      },
    )
    asked.once('error', reject)
    asked.end(body)
  })

const token = (service: Service, clientId = 'svc'): Promise<Answer> =>
  post(service, { grant_type: 'client_credentials' }, { authorization: `Basic ${btoa(`${clientId}:${secret}`)}` })

type Line = Record<string, unknown>

const auditOf = async (name: string): Promise<Line[]> =>
  (await readFile(join(cli.folder, `${name}.jsonl`), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)

const issuersOf = async (name: string): Promise<number[]> => [
  ...new Set((await auditOf(name)).filter(({ event }) => event === 'token.issued').map(({ pid }) => Number(pid))),
]

const admin = async (service: Service, path: string, init?: RequestInit): Promise<Answer> => {
  const reply = await fetch(service.admin + path, init)
  return { status: reply.status, body: await reply.text() }
}

const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const many = <T>(count: number, make: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, make))

const statuses = async (service: Service, count: number, clientId?: string): Promise<number[]> =>
  (await many(count, () => token(service, clientId))).map(({ status }) => status)

describe('workers: 2', () => {
  it('share one port, accept a code once, and are one service to the operator', async () => {
    const service = await serve('shared')
    expect(new Set(await statuses(service, 8))).toEqual(new Set([200]))
    const pids = await issuersOf('shared')
    expect(pids).toHaveLength(2)
    expect(pids).not.toContain(service.child.pid)

    const store = await openEmbedded({ path: join(cli.folder, 'shared'), clock: Date.now })
    const mint = createMint(store)
    for (let round = 0; round < 10; round++) {
      const { code } = await mint.code({ clientId: 'app', scope: ['openid', 'offline_access'] })
      const redeem = { grant_type: 'authorization_code', client_id: 'app', code, code_verifier: verifier }
      const answers = await many(6, () => post(service, { ...redeem, redirect_uri: redirectUri }))
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400, 400, 400])
    }
    await store[Symbol.asyncDispose]()

    const ready = async (): Promise<unknown> => JSON.parse((await admin(service, '/health/ready')).body)
    // A worker that was busy a moment ago may not have said yet how it is.
    await expect.poll(ready, { timeout: 20_000 }).toMatchObject({
      status: 'ready',
      components: {
        workers: { status: 'up' },
        'worker.1.keys': { status: 'up' },
        'worker.2.storage.records': { status: 'up' },
      },
    })
    const metrics = (await admin(service, '/metrics')).body
    const issued = [...metrics.matchAll(/^signet_tokens_issued_total\{worker="([12])",grant="client_cre.*\} (\d+)$/gm)]
    expect(issued.map(([, worker]) => worker)).toEqual(['1', '2'])
    expect(issued.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(8)
    expect(metrics.match(/^# TYPE signet_tokens_issued_total /gm)).toHaveLength(1)
    expect(metrics).toMatch(/^signet_workers_running 2$/m)
    for (const series of [
      'signet_ready',
      'signet_ready{worker="2"}',
      'signet_component_up{worker="1",component="keys"}',
    ])
      expect(metrics).toContain(`\n${series} 1\n`)

    service.child.kill('SIGTERM')
    expect(await service.ended).toBe(0)
    expect(pids.filter(lives)).toEqual([])
    const found = await verifyAudit([readLines(join(cli.folder, 'shared.jsonl'))])
    expect(found.faults).toEqual([])
    expect(found.writers.map(({ pid }) => pid)).toEqual(expect.arrayContaining(pids))
  })

  it('keep serving when one is killed, and it is replaced', async () => {
    const service = await serve('killed')
    await statuses(service, 4)
    const before = await issuersOf('killed')
    const [victim = 0, other] = before
    process.kill(victim, 'SIGKILL')
    await expect.poll(() => lives(victim)).toBe(false)
    expect(new Set(await statuses(service, 10))).toEqual(new Set([200]))
    expect((await admin(service, '/health/ready')).status).toBe(200)
    const metrics = async (): Promise<string> => (await admin(service, '/metrics')).body
    await expect.poll(metrics, { timeout: 30_000 }).toMatch(/^signet_worker_restarts_total 1$/m)
    const newcomers = async (): Promise<number[]> => {
      await statuses(service, 4)
      return (await issuersOf('killed')).filter((pid) => !before.includes(pid))
    }
    await expect.poll(newcomers, { timeout: 30_000 }).toHaveLength(1)
    expect(lives(other ?? 0)).toBe(true)
    service.child.kill('SIGTERM')
    expect(await service.ended).toBe(0)
  })

  it('all reload the configuration, or none does', async () => {
    const service = await serve('reload')
    expect(new Set(await statuses(service, 4, 'new'))).toEqual(new Set([401]))
    const file = join(cli.folder, 'reload.yaml')
    const written = await readFile(file, 'utf8')
    const form = { method: 'POST', body: new URLSearchParams() }
    for (const body of ['forse=true', 'force=true&force=true', 'force=yes'])
      expect(await admin(service, '/reload', { ...form, body: new URLSearchParams(body) })).toMatchObject({
        status: 400,
      })
    await writeFile(file, written.replace('session_ttl_secs', '').replace('workers: 2', 'workers: 3'))
    const refused = await admin(service, '/reload', form)
    expect(refused).toMatchObject({ status: 400, body: expect.stringContaining('"path":"workers"') })
    await writeFile(file, written.replace(clients('svc'), clients('svc', 'new')))
    expect(await admin(service, '/reload', form)).toMatchObject({ status: 200 })
    expect(new Set(await statuses(service, 8, 'new'))).toEqual(new Set([200]))
    expect(await issuersOf('reload')).toHaveLength(2)

    await writeFile(file, written)
    service.child.kill('SIGHUP')
    await expect
      .poll(async () => new Set(await statuses(service, 4, 'new')), { timeout: 30_000 })
      .toEqual(new Set([401]))
    service.child.kill('SIGTERM')
    expect(await service.ended).toBe(0)
  })

  it('end with their parent process, and report a problem of the deployment once', async () => {
    const service = await serve('orphans')
    await statuses(service, 4)
    const pids = await issuersOf('orphans')
    service.child.kill('SIGKILL')
    await service.ended
    await expect.poll(() => pids.filter(lives), { timeout: 30_000 }).toEqual([])

    const keys = configuration('workers: 2').replace('ref: ed-1', 'ref: ../escape')
    await cli.write('broken.yaml', keys)
    const broken = await cli.run(['start', '--config', 'broken.yaml'], { alone: true })
    expect(broken.code).toBe(1)
    expect(broken.stderr.match(/keys\[0\]/g)).toHaveLength(1)
  })
})
