import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { createServer as createTcpServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../support/clients/client-assertion.js'
import { describeWith } from '../support/services/describe-with.js'
import { createClient, createDeployment, type Deployment, type SignetProcess } from '../support/server/processes.js'

const run = promisify(execFile)
const key = newAssertionKey('ES256', 'first')
const client = createClient()

const json: RequestListener = (_request, response) =>
  void response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [key.publicJwk] }))
const drip: RequestListener = (_request, response) => {
  const timer = setInterval(() => response.write(' '), 100)
  response.on('close', () => clearInterval(timer))
}

/** What each site answers, and the certificate that it shows: its name, and who signed it. */
const sites: Readonly<Record<string, readonly [RequestListener, name: string, by: 'ca' | 'itself' | 'other-ca']>> = {
  good: [json, 'localhost', 'ca'],
  'named-otherwise': [json, 'elsewhere.example', 'ca'],
  'self-signed': [json, 'localhost', 'itself'],
  'of-an-unknown-ca': [json, 'localhost', 'other-ca'],
  hangs: [() => undefined, 'localhost', 'ca'],
  drips: [drip, 'localhost', 'ca'],
  floods: [(_request, response) => void response.end(`{"keys":[],"x":"${'x'.repeat(70_000)}"}`), 'localhost', 'ca'],
  redirects: [(_request, response) => void response.writeHead(302, { location: '/' }).end(), 'localhost', 'ca'],
}

let folder: string
let deployment: Deployment
const servers: Server[] = []
const sockets = new Set<{ destroy(): void }>()

/** Keys and certificates as an operator makes them. */
const openssl = (...args: string[]) => run('openssl', args, { cwd: folder })
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

const makeAuthority = (name: string) =>
  openssl('req', '-x509', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`)

const makeCertificate = async (file: string, name: string, by: string): Promise<void> => {
  const files = ['-keyout', `${file}.key`, '-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  if (by === 'itself') {
    await openssl('req', '-x509', ...newKey, ...files, '-out', `${file}.pem`)
    return
  }
  await openssl('req', ...newKey, ...files, '-out', `${file}.csr`)
  await writeFile(join(folder, `${file}.ext`), `subjectAltName=DNS:${name}`)
  const signed = ['-in', `${file}.csr`, '-CA', `${by}.pem`, '-CAkey', `${by}.key`, '-CAcreateserial']
  await openssl('x509', '-req', ...signed, '-extfile', `${file}.ext`, '-out', `${file}.pem`)
}

const listen = async (server: Server): Promise<number> => {
  servers.push(server)
  server.on('connection', (socket) => sockets.add(socket))
  server.listen(0, 'localhost')
  await once(server, 'listening')
  return (server.address() as { port: number }).port
}

describeWith('openssl', 'keys behind an https jwks_uri', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'signet-https-'))
    await Promise.all([makeAuthority('ca'), makeAuthority('other-ca')])
    const ports = new Map<string, number>()
    for (const [site, [listener, name, by]] of Object.entries(sites)) {
      await makeCertificate(site, name, by)
      const [cert, privateKey] = await Promise.all(
        ['pem', 'key'].map((kind) => readFile(join(folder, `${site}.${kind}`))),
      )
      ports.set(site, await listen(createServer({ cert, key: privateKey }, listener)))
    }
    ports.set('no-tls', await listen(createTcpServer((socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n'))))
    ports.set('silent', await listen(createTcpServer(() => undefined)))
    deployment = await createDeployment((written) => ({
      ...written,
      outbound: { allow_private_addresses: true },
      clients: [...ports].map(([client_id, port]) => ({
        client_id,
        token_endpoint_auth_method: 'private_key_jwt',
        grant_types: ['client_credentials'],
        scope: 'read',
        jwks_uri: `https://localhost:${port}/keys`,
      })),
    }))
  }, 60_000)
  afterAll(async () => {
    client.close()
    await deployment[Symbol.asyncDispose]()
    for (const socket of sockets) socket.destroy()
    for (const server of servers) server.close()
    await rm(folder, { recursive: true })
  })

  const ask = (at: SignetProcess, clientId: string) =>
    client.post(`${at.origin}/token`, {
      grant_type: 'client_credentials',
      client_assertion_type: assertionType,
      client_assertion: signAssertion(
        key,
        { alg: 'ES256', kid: key.kid },
        assertionClaims(clientId, deployment.issuer, Date.now()),
      ),
    })

  const expectUnavailable = async (at: SignetProcess, clientId: string): Promise<void> =>
    expect({ clientId, ...(await ask(at, clientId)) }).toMatchObject({
      clientId,
      status: 503,
      body: { error: 'temporarily_unavailable' },
    })

  describe('of a deployment that trusts a private authority', () => {
    let signet: SignetProcess
    beforeAll(async () => {
      signet = await deployment.start(undefined, { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') })
    })

    it('are fetched and used', async () => {
      expect(await ask(signet, 'good')).toMatchObject({ status: 200, body: { token_type: 'Bearer' } })
    })

    it.each(['named-otherwise', 'self-signed', 'of-an-unknown-ca', 'no-tls', 'silent'])(
      'CA18 are not accepted from a site with a wrong certificate: %s',
      async (site) => {
        await expectUnavailable(signet, site)
        expect((await ask(signet, 'good')).status).toBe(200)
      },
    )

    it.each(['hangs', 'drips', 'floods', 'redirects'])('CA18 F35 has the same limits over https: %s', async (site) => {
      const waiting = expectUnavailable(signet, site)
      expect((await ask(signet, 'good')).status).toBe(200)
      await waiting
    })

    it('reports the reason only to the operator', async () => {
      expect(signet.output()).toContain('self-signed certificate')
      const { body } = await ask(signet, 'self-signed')
      expect(JSON.stringify(body)).not.toMatch(/certificate|self/)
    })
  })

  it('an untrusted authority never leads to a connection without TLS verification', async () => {
    const signet = await deployment.start()
    await expectUnavailable(signet, 'good')
  })
})
