import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { decodeJws } from '../support/clients/attestation.js'
import { codeBlock } from '../support/document.js'
import { freePort } from '../support/free-port.js'
import { describeWith } from '../support/services/describe-with.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

// The script of docs/attestation.md, against the product.

const run = promisify(execFile)
let folder: string
let cli: CommandLine
let issuer: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-attestation-'))
  await writeFile(join(folder, 'enrol.sh'), codeBlock('docs/attestation.md', 'enrol.sh'))
  cli = await openCommandLine()
  const port = await freePort()
  issuer = `http://localhost:${port}`
  const factors = ['bootstrap', 'approval', 'registry']
  const written = configuration(factors.map((name) => `  - use: plugins/attestation/${name}\n`).join(''))
  const served = written
    .replace('http://localhost:3000', issuer)
    .replace('port: 0', `port: ${port}`)
    .replace(/keys:\n.*\n/, '$&  - { kid: es-1, alg: ES256, signer: local, ref: es-1 }\n')
  await cli.write('signet.yaml', `${served}\nattestation: { require_audience_in_proof: true }\n`)
  await cli.serve(['start', '--config', 'signet.yaml'])
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

const newSecret = async (id: string, type = 'service'): Promise<string> => {
  const whom = ['--subject', 'payments', '--principal-id', id, '--type', type]
  const issued = ['principals', 'issue', '--kind', 'bootstrap_secret', ...whom, '--json', '--config', 'signet.yaml']
  return JSON.parse((await cli.run(issued)).stdout).secret
}

/** Approves the enrolment that waits for this principal. */
const approve = async (id: string): Promise<void> => {
  const principals = (...args: string[]) => cli.run(['principals', ...args, '--config', 'signet.yaml'])
  const waits = async (): Promise<unknown> => {
    const waiting = JSON.parse((await principals('waiting', '--json')).stdout) as Record<string, unknown>[]
    return waiting.find((one) => one['principal_id'] === id)?.['id']
  }
  await expect.poll(waits, { timeout: 30_000 }).toBeDefined()
  expect(await principals('approve', String(await waits()))).toMatchObject({ code: 0 })
}

describeWith(['curl', 'openssl'], 'the script, with curl and openssl', () => {
  const script = async (id: string, secret: string, env: Record<string, string> = {}) =>
    run('sh', ['enrol.sh', issuer, 'payments', id, secret], { cwd: folder, env: { ...process.env, ...env } })

  it('enrols and renews', async () => {
    for (const id of ['batch-1', 'batch-2', 'batch-3']) {
      const { stdout, stderr } = await script(id, await newSecret(id))
      expect(stderr).toBe('')
      const attestations = stdout.trim().split('\n')
      expect(attestations.map((one) => decodeJws(one).payload['did'])).toEqual([id, id])
      expect(attestations[0]).not.toBe(attestations[1])
    }
  })

  it('reports a refusal, prints nothing else, and exits with 1', () =>
    expect(script('batch-4', 'wrong')).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^\/enrol: .*"SecondFactorFailed".* 401\n$/),
    }))

  it('repeats a completion without an answer, because the secret is already used up', async () => {
    const asked: string[] = []
    const proxy = createServer((request, response) => {
      asked.push(new URL(request.url ?? '').pathname)
      const completions = asked.filter((path) => path === '/enrol/complete').length
      if (asked.at(-1) === '/enrol/complete' && completions === 1) response.writeHead(503).end('{}')
      else if (asked.at(-1) === '/enrol/complete' && completions === 2) request.socket.destroy()
      else pass(request, response)
    })
    await once(proxy.listen(0), 'listening')
    await writeFile(join(folder, 'sleep'), '#!/bin/sh\n', { mode: 0o755 })
    try {
      const { port } = proxy.address() as AddressInfo
      const env = { http_proxy: `http://127.0.0.1:${port}`, no_proxy: '', PATH: `${folder}:${process.env['PATH']}` }
      const { stdout } = await script('batch-5', await newSecret('batch-5'), env)
      expect(stdout.trim().split('\n')).toHaveLength(2)
      expect(asked).toEqual(['/enrol', ...Array<string>(3).fill('/enrol/complete'), '/reissue', '/enrol/complete'])
    } finally {
      proxy.close()
    }
  })
})

describeWith(['curl', 'openssl'], 'the script, where a person has to approve', () => {
  it('waits as long as Retry-After says, and enrols', async () => {
    const programs = await mkdtemp(join(folder, 'programs-'))
    const [asked, over] = [join(programs, 'asked'), join(programs, 'over')]
    const sleep = `#!/bin/sh\necho "$1" >> '${asked}'\nuntil [ -e '${over}' ]; do /bin/sleep 0.05; done\n`
    await writeFile(join(programs, 'sleep'), sleep, { mode: 0o755 })
    const env = { ...process.env, PATH: `${programs}:${process.env['PATH']}` }
    const enrolling = run('sh', ['enrol.sh', issuer, 'payments', 'batch-6', '42', 'approval'], { cwd: folder, env })
    await approve('batch-6')
    await writeFile(over, '')
    const { stdout, stderr } = await enrolling
    expect(stderr).toBe('')
    expect(stdout.trim().split('\n')).toHaveLength(2)
    expect(await readFile(asked, 'utf8')).toMatch(/^(?:\d+\n)+$/)
  })
})

const pass = (from: IncomingMessage, to: ServerResponse): void => {
  const { method, headers } = from
  from.pipe(
    request(from.url ?? '', { method: String(method), headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(to)
    }),
  )
}
