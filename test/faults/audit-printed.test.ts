import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { configuration, openCommandLine, type CommandLine } from '../flows/cli-fixture.js'
import { freePort } from '../support/free-port.js'
import { mountSmallDisk } from '../support/small-disk.js'

const disk = mountSmallDisk('256k')
const secret = 'a-secret-for-this-test-of-256-bits'
const client = `clients: [{ client_id: svc, client_secret: ${secret}, grant_types: [client_credentials] }]`

let cli: CommandLine
let at: { readonly public: string; readonly admin: string }
beforeAll(async () => {
  cli = await openCommandLine()
  const [port, adminPort] = [await freePort(), await freePort()]
  at = { public: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${adminPort}` }
  const written = configuration(`audit: stdout\n${client}\n`)
  const listening = written
    .replace('listen: { host: 127.0.0.1, port: 0 }', `listen: { host: 127.0.0.1, port: ${port} }`)
    .replace('admin: { host: 127.0.0.1, port: 0 }', `admin: { host: 127.0.0.1, port: ${adminPort} }`)
  await cli.write('signet.yaml', listening)
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  disk?.[Symbol.dispose]()
})

const statusOf = (url: string, init?: RequestInit): Promise<number | undefined> =>
  fetch(url, init).then(
    ({ status }) => status,
    () => undefined,
  )
const issue = () =>
  statusOf(`${at.public}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`svc:${secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
const ready = () => statusOf(`${at.admin}/health/ready`)

describe('the audit log on standard output', () => {
  it('F34 refuses while the disk behind it is full, and goes on when there is room', { skip: !disk }, async () => {
    const output = openSync(join(disk!.path, 'output'), 'a')
    const main = join(packageRoot, 'dist', 'core', 'main.js')
    const child = spawn(process.execPath, [main, 'start', '--config', 'signet.yaml'], {
      cwd: cli.folder,
      stdio: ['ignore', output, 'inherit'],
    })
    const ended = once(child, 'exit')
    closeSync(output)
    try {
      await expect.poll(ready, { timeout: 30_000 }).toBe(200)
      expect(await issue()).toBe(200)
      disk!.fill()
      await expect.poll(issue).toBe(503)
      await expect.poll(ready, { timeout: 10_000 }).toBe(503)
      disk!.free()
      await expect.poll(ready, { timeout: 10_000 }).toBe(200)
      expect(await issue()).toBe(200)
      child.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
    } finally {
      child.kill('SIGKILL')
      await ended
    }
  })

  it('ends with a problem when nobody reads it any more', async () => {
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    expect(await issue()).toBe(200)
    service.child.stdout.destroy()
    await expect.poll(issue).toBe(undefined)
    expect(await service.ended).toBe(1)
    expect(service.output()).toContain('Nobody reads standard output any more')
  })
})
