import { execFile } from 'node:child_process'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeWith } from '../support/services/describe-with.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

const run = promisify(execFile)

let cli: CommandLine
beforeEach(async () => {
  cli = await openCommandLine()
})
afterEach(() => cli[Symbol.asyncDispose]())

const makePair = async (name: string, days = '30'): Promise<void> => {
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`, '-days', days]
  await run('openssl', ['req', '-x509', ...curve, ...files], { cwd: cli.folder })
}
const use = async (name: string, key = name): Promise<void> => {
  await copyFile(join(cli.folder, `${name}.pem`), join(cli.folder, 'tls.pem'))
  await copyFile(join(cli.folder, `${key}.key`), join(cli.folder, 'tls.key'))
}

/** The name in the certificate that a new connection is shown. */
const shown = (url: string): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subject.CN as string)
      socket.destroy()
    })
    socket.on('error', reject)
  })

const tls = '{ cert: { $file: tls.pem }, key: { $file: tls.key } }'
const served = (workers = 1): string =>
  `${configuration()
    .replace(/^listen: \{/m, `listen: { tls: ${tls},`)
    .replace(/^admin: \{/m, `admin: { tls: ${tls},`)}workers: ${String(workers)}\n`

describeWith('openssl', 'a renewed certificate', () => {
  beforeEach(async () => {
    await Promise.all([makePair('first'), makePair('second', '60')])
    await use('first')
  })

  const serve = async (workers?: number): Promise<Service> => {
    await cli.write('signet.yaml', served(workers))
    return cli.serve(['start', '--config', 'signet.yaml'])
  }

  it('is used for new connections after a reload, on every listener, without closing others', async () => {
    const service = await serve()
    const open = connect({ port: Number(new URL(service.public).port), host: '127.0.0.1', rejectUnauthorized: false })
    await new Promise((resolve) => open.once('secureConnect', resolve))
    await use('second')
    service.child.kill('SIGHUP')
    await expect.poll(() => service.output()).toContain('"certificates":["listen","admin"]')
    for (const url of [service.public, service.admin]) expect(await shown(url)).toBe('second')
    const answered = new Promise<string>((resolve) => open.once('data', (data) => resolve(data.toString())))
    open.write('GET /jwks.json HTTP/1.1\r\nhost: x\r\n\r\n')
    expect(await answered).toMatch(/^HTTP\/1\.1 200/)
    open.destroy()
  })

  it('that does not match its key is refused by name, and the previous one stays', async () => {
    const service = await serve()
    await use('second', 'first')
    service.child.kill('SIGHUP')
    await expect.poll(() => service.output()).toMatch(/listen\.tls: certificate and key do not belong together/)
    for (const url of [service.public, service.admin]) expect(await shown(url)).toBe('first')
  })

  it('is used by every worker, and by their parent process', async () => {
    const service = await serve(2)
    await use('second')
    service.child.kill('SIGHUP')
    await expect.poll(() => shown(service.admin)).toBe('second')
    for (let connection = 0; connection < 8; connection++) expect(await shown(service.public)).toBe('second')
  })

  it('added or removed still needs a restart', async () => {
    const service = await serve()
    const text = await readFile(join(cli.folder, 'signet.yaml'), 'utf8')
    await writeFile(join(cli.folder, 'signet.yaml'), text.replace(`listen: { tls: ${tls},`, 'listen: {'))
    service.child.kill('SIGHUP')
    await expect.poll(() => service.output()).toMatch(/listen\.tls: differs from the running configuration and needs/)
  })

  it('has its expiry in the metrics, before and after', async () => {
    const config = served().replace(`admin: { tls: ${tls},`, 'admin: {')
    await cli.write('signet.yaml', config)
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    const end = async () => {
      const text = await (await fetch(`${service.admin}/metrics`)).text()
      return Number(/^signet_certificate_not_after_seconds\{listener="listen",issuer="[^"]+"\} (\d+)$/m.exec(text)?.[1])
    }
    const first = await end()
    expect(first * 1000 - Date.now()).toBeGreaterThan(29 * 86_400_000)
    await use('second')
    service.child.kill('SIGHUP')
    await expect.poll(async () => (await end()) - first).toBeGreaterThan(29 * 86_400)
  })
})
