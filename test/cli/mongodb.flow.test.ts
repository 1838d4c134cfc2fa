import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { freePort } from '../support/free-port.js'
import { openFaultProxy, type FaultProxy } from '../support/stores/fault-proxy.js'
import { startMongo, type TestMongo } from '../support/stores/mongo-server/start.js'
import { describeWith } from '../support/services/describe-with.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

describeWith('mongodb', 'the command line on MongoDB', () => {
  let mongo: TestMongo
  let proxy: FaultProxy
  let cli: CommandLine
  beforeAll(async () => {
    mongo = await startMongo()
    proxy = await openFaultProxy(mongo)
  })
  beforeEach(async () => {
    cli = await openCommandLine()
  })
  afterEach(async () => {
    await cli[Symbol.asyncDispose]()
    await proxy.heal()
  })
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]()
    await mongo[Symbol.asyncDispose]()
  })

  const withStore = (uri: string) => {
    const backend = `{ use: mongodb, options: { uri: '${uri}', database: ${mongo.database} } }`
    return configuration(`audit: { file: ./audit.jsonl }\nstorage: { records: ${backend}, ephemeral: ${backend} }\n`)
  }
  const write = (uri: string, more: (text: string) => string = (text) => text) =>
    cli.write('signet.yaml', more(withStore(uri)))
  const run = (command: string) => cli.run([command, '--config', 'signet.yaml'])

  it('doctor names every missing index, migrate creates them, and then doctor passes with a warning', async () => {
    await write(mongo.uri())
    const before = await run('doctor')
    expect(before.code).toBe(1)
    expect(before.stdout).toMatch(/^storage\.records +[\d.]+ ms +ok: MongoDB \S+, standalone$/m)
    expect(before.stderr).toMatch(
      /^storage\.records\.indexes: the index signet_expire_at of account_subjects is missing/m,
    )

    const migrated = await run('migrate')
    expect({ code: migrated.code, stderr: migrated.stderr }).toEqual({ code: 0, stderr: '' })
    for (const collection of ['accounts', 'clients', 'codes', 'refresh_families', 'sessions', 'dpop_proofs'])
      expect(migrated.stdout).toContain(`${collection}: created the index signet_expire_at\n`)
    expect((await run('migrate')).stdout).toBe('The stores have everything they need.\n')
    const repeated = await cli.run(['migrate', '--json', '--config', 'signet.yaml'])
    expect(JSON.parse(repeated.stdout)).toEqual({ done: [] })

    const after = await run('doctor')
    expect(after.code).toBe(0)
    expect(after.stdout).toMatch(/^storage\.records\.indexes +[\d.]+ ms +ok$/m)
    expect(after.stderr.match(/^warning: storage\.records: MongoDB is a standalone server/gm)).toHaveLength(1)

    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    await service.printed('MongoDB is a standalone server')
    await expect.poll(async () => (await fetch(`${service.admin}/health/ready`)).status).toBe(200)
    service.child.kill('SIGTERM')
    expect(await service.ended).toBe(0)
  })

  it('reports a wrong address without the password', async () => {
    const port = await freePort()
    await write(`mongodb://signet:canary@127.0.0.1:${port}/`)
    const gone = await run('doctor')
    expect(gone.code).toBe(1)
    expect(gone.stderr).toMatch(new RegExp(`^storage\\.records: connect ECONNREFUSED 127\\.0\\.0\\.1:${port}$`, 'm'))

    await write('mongodb://signet:canary@db.example/?retires=1')
    for (const command of ['start', 'doctor', 'migrate']) {
      const { code, stdout, stderr } = await run(command)
      expect(code).toBe(1)
      expect(stderr).toMatch(/^storage\.records\.options\.uri: not a connection string of MongoDB: option retires/m)
      expect(stdout + stderr).not.toContain('canary')
    }
    await write('postgres://signet:canary@db.example/')
    const { code, stdout, stderr } = await run('check')
    expect(code).toBe(1)
    expect(stdout).toContain('storage.records.options.uri: must begin with mongodb:// or mongodb+srv://')
    expect(gone.stdout + gone.stderr + stdout + stderr).not.toContain('canary')
  })

  it('reports that the server does not use TLS', async () => {
    await write(mongo.uri().replace('?', '?tls=true&'))
    const { code, stderr } = await run('doctor')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^storage\.records: no server answers \(.*\); does it speak TLS\?$/m)
  })

  it.each([1, 2])('a start of %i workers that waits for MongoDB stops cleanly on a signal', async (workers) => {
    await proxy.down()
    const adminPort = await freePort()
    const admin = `admin: { host: 127.0.0.1, port: ${adminPort} }\nworkers: ${workers}`
    await write(mongo.uri(proxy.port), (text) => text.replace('admin: { host: 127.0.0.1, port: 0 }', admin))
    const starting = cli.launch(['start', '--config', 'signet.yaml'])
    await starting.printed('Startup is waiting for a store')
    const ready = async () => {
      const reply = await fetch(`http://127.0.0.1:${adminPort}/health/ready`)
      return { status: reply.status, body: await reply.text() }
    }
    expect((await fetch(`http://127.0.0.1:${adminPort}/health/live`)).status).toBe(200)
    await expect.poll(ready).toEqual({ status: 503, body: expect.stringContaining('waiting for storage.records') })
    // What rotates configurations does not know that it waits.
    starting.child.kill('SIGHUP')
    await starting.printed(workers === 1 ? 'not reloaded' : 'A request failed because of an outage')
    expect((await ready()).status).toBe(503)
    starting.child.kill('SIGTERM')
    expect(await starting.ended).toBe(0)
  })

  it("makes an auditor's pack while the service runs, which verifies", async () => {
    const key = '  - { kid: audit-1, alg: ES256, signer: local, ref: audit-1, purposes: [audit] }\n'
    // The store has the key that an earlier test published as ed-1.
    await write(mongo.uri(), (text) => text.replaceAll('ed-1', 'ed-2').replace(/^plugins:/m, `${key}plugins:`))
    await run('migrate')
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    const range = ['--from', '2026-01-01', '--to', new Date().toISOString()]
    const made = await cli.run(['audit', 'pack', '--config', 'signet.yaml', ...range, '--out', 'pack'])
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('Made the pack') })
    await cli.write('jwks.json', await (await fetch(new URL('/jwks.json', service.public))).text())
    expect(await cli.run(['audit', 'pack', '--verify', 'pack', '--key', 'jwks.json'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The pack is as it was made.'),
    })
  })
})
