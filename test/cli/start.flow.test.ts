import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../support/free-port.js'
import {
  configuration,
  forServices,
  openCommandLine,
  requestToken,
  type CommandLine,
} from '../support/server/command-line.js'

let cli: CommandLine
beforeEach(async () => {
  cli = await openCommandLine()
})
afterEach(() => cli[Symbol.asyncDispose]())

const service =
  'clients: [{ client_id: svc, client_secret: svc-secret-of-more-than-256-bits-for-tests, grant_types: [client_credentials], scope: api }]'

const serve = async (more = service) => {
  await cli.write('signet.yaml', configuration(more))
  return cli.serve(['start', '--config', 'signet.yaml'])
}

/** A free port before another one. */
const freePortPair = async (): Promise<number> => {
  for (;;) {
    const port = await freePort()
    if ((await freePort()) === port + 1) return port
  }
}

const isReady = async (admin: string): Promise<boolean> => (await fetch(new URL('/health/ready', admin))).ok

describe('signet start', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('serves until %s and ends with exit code 0', async (signal) => {
    const running = await serve()
    expect((await fetch(new URL('/health/live', running.admin))).status).toBe(200)
    expect((await requestToken(running, 'svc', 'svc-secret-of-more-than-256-bits-for-tests')).status).toBe(200)
    running.child.kill(signal)
    expect(await running.ended).toBe(0)
    expect(running.output()).toContain(`"signal":"${signal}"`)
    expect(running.output()).toContain('"msg":"stopped"')
    for (const secret of ['svc-secret-of-more-than-256-bits-for-tests', 'demo'])
      expect(running.output()).not.toContain(secret)
  })

  it('finishes requests in flight while not ready', async () => {
    const running = await serve()
    while (!(await isReady(running.admin)));
    const token = request(new URL('/token', running.public), {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa('svc:svc-secret-of-more-than-256-bits-for-tests')}`,
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': 29,
        expect: '100-continue',
      },
    })
    token.flushHeaders()
    await once(token, 'continue')
    running.child.kill('SIGTERM')
    while (await isReady(running.admin));
    await expect(fetch(new URL('/jwks.json', running.public))).rejects.toThrow('fetch failed')

    token.end('grant_type=client_credentials')
    const [response] = await once(token, 'response')
    expect(response.statusCode).toBe(200)
    expect(await json(response)).toMatchObject({ token_type: 'Bearer' })
    expect(await running.ended).toBe(0)
  })

  it('ends at once on a second signal', async () => {
    const running = await serve()
    const stuck = request(new URL('/token', running.public), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': 29, expect: '100-continue' },
    })
    stuck.on('error', () => undefined)
    stuck.flushHeaders()
    await once(stuck, 'continue')
    running.child.kill('SIGTERM')
    while (await isReady(running.admin));
    running.child.kill('SIGINT')
    expect(await running.ended).toBe(130)
  })

  it('logs an uncaught error and ends with exit code 1', async () => {
    const create = `() => { process.once('SIGUSR2', () => { Promise.reject(new Error('nobody caught this')) }); return {} }`
    await cli.write('faulty.js', `export default { name: 'faulty', apiVersion: 1, create: ${create} }`)
    await cli.write('signet.yaml', configuration('  - use: ./faulty.js'))
    const running = await cli.serve(['start', '--config', 'signet.yaml'])
    running.child.kill('SIGUSR2')
    expect(await running.ended).toBe(1)
    expect(running.output()).toMatch(/"level":"error".*nobody caught this/)
  })

  it('prints every mistake of the configuration and opens nothing', async () => {
    await cli.write('bad.yaml', configuration('log: { level: loud }\naudit: { fle: x }'))
    const { code, stdout, stderr } = await cli.run(['start', '--config', 'bad.yaml'], { alone: true })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^log\.level: .* \(line \d+\)$/),
      expect.stringMatching(/^audit\.fle: .* \(line \d+\)$/),
    ])
  })

  it('reports which key cannot be used', async () => {
    await cli.write('signet.yaml', configuration().replace('create: true', 'create: false'))
    const { code, stderr } = await cli.run(['start', '--config', 'signet.yaml'], { alone: true })
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^keys\[0\]: ed-1 does not exist/) })
  })

  it('reports in one line that the port is in use', async () => {
    const running = await serve()
    const { port } = new URL(running.public)
    await cli.write(
      'second.yaml',
      configuration().replace('listen: { host: 127.0.0.1, port: 0 }', `listen: { host: 127.0.0.1, port: ${port} }`),
    )
    const { code, stdout, stderr } = await cli.run(['start', '--config', 'second.yaml'], { alone: true })
    expect({ code, started: stdout.includes('started') }).toEqual({ code: 1, started: false })
    expect(stderr).toBe(
      `listen: port ${port} on 127.0.0.1 is taken, perhaps by another Signet: stop that one, or choose another: signet start --port 3100, which moves the admin listener to 3101\n`,
    )
    expect((await requestToken(running, 'svc', 'svc-secret-of-more-than-256-bits-for-tests')).status).toBe(200)
  })

  it('serves on another port, for issuer and admin listener, also after a reload', async () => {
    const port = await freePortPair()
    await cli.write(
      'signet.yaml',
      configuration(service)
        .replace(/^issuer: .*$/m, 'issuer: http://localhost:3000')
        .replace(/^listen: .*$/m, ''),
    )
    const running = await cli.serve(['start', '--config', 'signet.yaml', '--port', String(port)])
    expect([running.public, running.admin].map((url) => new URL(url).port)).toEqual([String(port), String(port + 1)])
    const discovery = async () =>
      (await (await fetch(new URL('/.well-known/openid-configuration', running.public))).json()) as { issuer: string }
    expect((await discovery()).issuer).toBe(`http://localhost:${port}`)
    running.child.kill('SIGHUP')
    await running.printed('Configuration unchanged')
  })

  it.each(['0', '65535', '3000x', '-1'])('refuses the port %s', async (port) => {
    const { code, stderr } = await cli.run(['start', `--port=${port}`])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('from 1 to 65534') })
  })

  it('keeps the two roles of storage apart if they have separate folders', async () => {
    const storage = (role: string) => `${role}: { use: embedded, options: { path: ./${role} } }`
    const running = await serve(`${service}\nstorage: { ${storage('records')}, ${storage('ephemeral')} }`)
    const add = ['clients', 'add', '--client-id', 'mine', '--grant-type', 'client_credentials', '--json']
    const added = await cli.run([...add, '--config', 'signet.yaml'])
    expect((await requestToken(running, 'mine', JSON.parse(added.stdout).client_secret)).status).toBe(200)
    running.child.kill('SIGTERM')
    expect(await running.ended).toBe(0)
    for (const [role, holds] of Object.entries({ records: true, ephemeral: false })) {
      const files = await readdir(join(cli.folder, role))
      const contents = await Promise.all(files.map((file) => readFile(join(cli.folder, role, file))))
      expect({ role, holds: Buffer.concat(contents).includes('clients\0mine') }).toEqual({ role, holds })
    }
  })

  it.each(['records', 'ephemeral'])('reports which store cannot be used: %s', async (role) => {
    await cli.write('taken', 'a file, not a folder')
    await cli.write('signet.yaml', forServices(`storage: { ${role}: { use: embedded, options: { path: ./taken } } }`))
    const { code, stdout, stderr } = await cli.run(['start', '--config', 'signet.yaml'], { alone: true })
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^storage\\.${role}: .*\n$`)),
    })
  })
})
