import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, request as requestHttp, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { doubleRegion, startKmsDouble, type KmsDouble } from '../../core/testing/kms-double/index.js'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../support/clients/client-assertion.js'
import { describeWith } from '../support/services/describe-with.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { createClient, createDeployment, type Deployment, type SignetProcess } from '../support/server/processes.js'
import { jsonAnswer, openSite, type Site } from '../support/server/site.js'

const key = newAssertionKey('ES256', 'first')
const client = createClient()

/** A forward proxy of an organisation, which alone knows where `keys.example` and `kms.example` are. */
const openProxy = async (places: () => Readonly<Record<string, string>>) => {
  const asked: { readonly target: string; readonly credentials: string | undefined }[] = []
  const sockets = new Set<Socket>()
  const proxy = {
    asked,
    refusal: undefined as string | undefined,
    silent: false,
    url: '',
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  const tunnel = ({ url: target = '', headers }: IncomingMessage, socket: Socket): void => {
    asked.push({ target, credentials: headers['proxy-authorization'] })
    socket.on('error', () => undefined)
    if (proxy.silent) return
    const place = places()[target]
    if (place === undefined || proxy.refusal !== undefined)
      return void socket.end(proxy.refusal ?? 'HTTP/1.1 502 no\r\n\r\n')
    const { hostname, port } = new URL(place)
    const there = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(there).pipe(socket)
    })
    sockets.add(there)
    there.on('error', () => socket.destroy())
  }
  const server = createServer((_request, response) => void response.writeHead(405).end()).on('connect', tunnel)
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  proxy.url = `http://signet:p%40ss@127.0.0.1:${String(port)}`
  return proxy
}

describeWith('openssl', 'a proxy that the environment names', () => {
  let folder: string
  let keys: Site
  let kms: Site
  let double: KmsDouble
  let proxy: Awaited<ReturnType<typeof openProxy>>
  let deployment: Deployment
  let cli: CommandLine
  let running: SignetProcess | undefined
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'signet-proxy-'))
    const names = 'subjectAltName=DNS:keys.example,DNS:kms.example'
    const made = ['-keyout', 'key.pem', '-out', 'cert.pem', '-subj', '/CN=keys.example', '-addext', names]
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    await promisify(execFile)('openssl', ['req', '-x509', ...curve, ...made], { cwd: folder })
    const [cert, privateKey] = await Promise.all(
      ['cert', 'key'].map((name) => readFile(join(folder, `${name}.pem`), 'utf8')),
    )
    const tls = { cert: cert!, key: privateKey! }
    keys = await openSite(jsonAnswer({ keys: [key.publicJwk] }), tls)
    double = await startKmsDouble()
    kms = await openSite((question, answer) => {
      const { headers } = question
      const sent = requestHttp(double.endpoint, { method: 'POST', headers }, (came) => {
        answer.writeHead(came.statusCode!, came.headers)
        came.pipe(answer)
      })
      sent.end(kms.asked.at(-1)!.body)
    }, tls)
    proxy = await openProxy(() => ({ 'keys.example:443': keys.url, 'kms.example:443': kms.url }))
    cli = await openCommandLine()
    deployment = await createDeployment((written) => ({
      ...written,
      clients: ['https://keys.example/keys', 'https://192.0.2.1/keys'].map((jwks_uri, index) => ({
        client_id: ['named', 'private'][index],
        token_endpoint_auth_method: 'private_key_jwt',
        grant_types: ['client_credentials'],
        scope: 'read',
        jwks_uri,
      })),
    }))
  })
  afterEach(async () => {
    await running?.stop('SIGTERM')
    running = undefined
    proxy.asked.length = 0
    Object.assign(proxy, { refusal: undefined, silent: false })
  })
  afterAll(async () => {
    client.close()
    for (const opened of [deployment, cli, keys, kms, double, proxy]) await opened[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  const environment = (more: Readonly<Record<string, string>> = {}) => ({
    NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem'),
    HTTPS_PROXY: proxy.url,
    NO_PROXY: '',
    no_proxy: '',
    https_proxy: '',
    ...more,
  })
  const authenticate = async (clientId: string, more: Readonly<Record<string, string>> = {}) => {
    running = await deployment.start(undefined, environment(more))
    return client.post(`${running.origin}/token`, {
      grant_type: 'client_credentials',
      client_assertion_type: assertionType,
      client_assertion: signAssertion(
        key,
        { alg: 'ES256', kid: key.kid },
        assertionClaims(clientId, deployment.issuer, Date.now()),
      ),
    })
  }

  it('fetches the keys of a client through it, with its credentials, and says which software asks', async () => {
    expect(await authenticate('named')).toMatchObject({ status: 200 })
    const credentials = `Basic ${btoa('signet:p@ss')}`
    expect(proxy.asked).toEqual([{ target: 'keys.example:443', credentials }])
    expect(keys.asked.at(-1)!.headers).toMatchObject({ 'user-agent': expect.stringMatching(/^signet\/\d/) })
    expect(keys.asked.at(-1)!.headers).not.toHaveProperty('proxy-authorization')
  })

  it('is not used for hosts in NO_PROXY', async () => {
    expect(await authenticate('named', { NO_PROXY: '.example' })).toMatchObject({ status: 503 })
    expect(proxy.asked).toEqual([])
  })

  it('is not asked for a private address', async () => {
    expect(await authenticate('private')).toMatchObject({ status: 503 })
    expect(proxy.asked).toEqual([])
    await expect.poll(() => running!.output()).toContain('the address is private')
  })

  const keySet = JSON.stringify({ keys: [key.publicJwk] })
  it.each([
    ['403 with a body', `HTTP/1.1 403 no\r\ncontent-length: ${String(keySet.length)}\r\n\r\n${keySet}`],
    ['407', 'HTTP/1.1 407 who are you\r\ncontent-length: 0\r\n\r\n'],
    ['201 with a body', `HTTP/1.1 201 no\r\ncontent-length: ${String(keySet.length)}\r\n\r\n${keySet}`],
  ])('is an outage when it answers %s', async (_name, refusal) => {
    proxy.refusal = refusal
    expect(await authenticate('named')).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } })
    await expect.poll(() => running!.output()).toMatch(/the proxy answered (403|407|201)/)
    expect(running!.output()).not.toMatch(/p%40ss|p@ss/)
  })

  it('is an outage when it hangs', async () => {
    proxy.silent = true
    expect(await authenticate('named')).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } })
  })

  it('is used for AWS KMS', async () => {
    const options = { region: doubleRegion, endpoint: 'https://kms.example' }
    const signer = JSON.stringify({ use: 'signers/aws-kms', options })
    await cli.write('kms.yaml', configuration().replace(/^signers:$/m, `$&\n  kms: ${signer}`))
    const env = { AWS_ACCESS_KEY_ID: 'AKIADOUBLE', AWS_SECRET_ACCESS_KEY: 'unused', ...environment() }
    const args = ['--config', 'kms.yaml', '--signer', 'kms', '--alg', 'ES256', '--ref', 'tokens']
    expect(await cli.run(['keys', 'create', ...args], { env, alone: true })).toMatchObject({ code: 0 })
    expect(new Set(proxy.asked.map(({ target }) => target))).toEqual(new Set(['kms.example:443']))
  })

  it.each(['gateway.example:8080', 'socks5://gateway.example:1080', '//gateway.example'])(
    'check refuses the address %s',
    async (value) => {
      await cli.write('check.yaml', configuration())
      const env = { ...environment(), HTTPS_PROXY: value }
      const { code, stdout, stderr } = await cli.run(['check', '--config', 'check.yaml'], { env })
      expect(code).toBe(1)
      expect(stdout + stderr).toMatch(/outbound: the environment variable HTTPS_PROXY must be the URL of an HTTP proxy/)
      expect(stdout + stderr).not.toContain(value)
    },
  )
})
