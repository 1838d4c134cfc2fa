import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { join } from 'node:path'
import { readFile, writeFile } from 'node:fs/promises'
import { parse, stringify } from 'yaml'
import { reload } from '../../core/cli/reload.js'
import { noLog } from '../../core/observe/log.js'
import { mtlsFetch, type ClientIdentity } from '../support/clients/mtls-fetch.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { authorizeUrl } from '../support/forge/mint.js'
import {
  createCertificateAuthority,
  createSelfSigned,
  serverAuth,
  type CertificateAuthority,
} from '../support/forge/certificates.js'
import { freePort } from '../support/free-port.js'
import { testCertificate } from '../support/server/certificate.js'
import { startServer, type TestServer } from '../support/server/server.js'

// The service that answers hand-offs proves itself by a certificate and by a token of its own.

const adminToken = 'a-token-of-the-admin-listener'
const answerToken = 'a-token-for-answers-alone'
const serviceName = { type: 'dns', value: 'sign-in.bank.example' } as const
const year = 365 * 86_400_000

let root: CertificateAuthority
let service: ClientIdentity
let server: TestServer
/** Milliseconds that the clock is ahead. */
let ahead = 0

beforeAll(async () => {
  root = await createCertificateAuthority()
  const middle = await root.intermediate()
  service = { certificate: await middle.issue({ san: [serviceName] }), chain: [middle] }
  const port = await freePort()
  server = await startServer({
    log: noLog,
    clock: () => Date.now() + ahead,
    configure: (written) => ({
      ...written,
      admin: {
        ...{ host: '127.0.0.1', port, token: adminToken, tls: testCertificate },
        handoff: {
          ...{ token: answerToken, trust_anchors: [root.pem] },
          clients: [{ tls_client_auth_subject_dn: 'CN=other' }, { tls_client_auth_san_dns: serviceName.value }],
        },
      },
      plugins: [
        ...(written['plugins'] as object[]),
        { use: 'plugins/login/handoff', options: { id: 'own', sign_in_url: 'https://sign-in.bank.example/start' } },
      ],
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())
afterEach(() => {
  ahead = 0
})

/** A sign-in that waits for an answer. */
const begin = async (): Promise<string> => {
  const agent = new UserAgent()
  const { response, url } = await agent.follow(authorizeUrl(server.issuer))
  const { left } = await agent.submit(url, await response.text(), { method: 'own', begin: '1' })
  return String(decodeJwt(left?.searchParams.get('request') ?? '')['interaction'])
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const answer = async (id: string, as: ClientIdentity, headers: Record<string, string> = bearer(answerToken)) => {
  const response = await mtlsFetch(as)(new URL(`/interactions/${id}/sign-in`, server.admin), {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ subject: 'employee-7', claims: {} }),
  })
  return response.status
}

it('[SI38] an answer needs the certificate that is configured, and the token', async () => {
  const id = await begin()
  const stranger = await createCertificateAuthority()
  const now = Date.now()
  const san = [serviceName]
  const wrong: Readonly<Record<string, ClientIdentity>> = {
    'no certificate': {},
    'another authority': { certificate: await stranger.issue({ san }), chain: [stranger] },
    'nobody’s': { certificate: await createSelfSigned({ san }) },
    'no chain': { certificate: service.certificate! },
    'another subject': { certificate: await root.issue({ san: [{ type: 'dns', value: 'app.bank.example' }] }) },
    'a wildcard': { certificate: await root.issue({ san: [{ type: 'dns', value: '*.bank.example' }] }) },
    'not for clients': { certificate: await root.issue({ san, eku: [serverAuth] }) },
    expired: {
      certificate: await root.issue({ san, notBefore: new Date(now - year), notAfter: new Date(now - 60_000) }),
    },
    early: { certificate: await root.issue({ san, notBefore: new Date(now + year / 2) }) },
  }
  for (const [what, as] of Object.entries(wrong)) expect(await answer(id, as), what).toBe(401)
  expect(await answer(id, service, {}), 'no token').toBe(401)
  expect(await answer(id, service, bearer('wrong')), 'a wrong token').toBe(401)
  const inHeader = { 'client-cert': `:${service.certificate!.der.toString('base64')}:` }
  expect(await answer(id, {}, { ...bearer(answerToken), ...inHeader }), 'in a header').toBe(401)
  // It expires on a server that runs on.
  ahead = 2 * year
  expect(await answer(id, service), 'expired meanwhile').toBe(401)
  ahead = 0
  expect(await answer(id, service)).toBe(200)
  expect((await server.audit()).filter(({ event }) => event === 'handoff.answered')).toHaveLength(1)
})

it('[SI39] who answers can do nothing else, and who can do everything else cannot answer', async () => {
  const ask = async (method: string, path: string, as: ClientIdentity, token?: string) =>
    (await mtlsFetch(as)(new URL(path, server.admin), { method, ...(token && { headers: bearer(token) }) })).status
  for (const [method, path] of [
    ['GET', '/health/ready'],
    ['GET', '/metrics'],
    ['POST', '/reload'],
  ] as const) {
    expect(await ask(method, path, service, answerToken), path).toBe(401)
    expect(await ask(method, path, service), path).toBe(401)
    expect(await ask(method, path, {}, adminToken), path).toBe(200)
  }
  expect(await ask('GET', '/health/live', {})).toBe(200)
  const id = await begin()
  expect(await answer(id, service, bearer(adminToken))).toBe(401)
  expect(await answer(id, {}, bearer(adminToken))).toBe(401)
  expect(await answer(id, service)).toBe(200)
})

it('signet reload asks over TLS, and only the certificate of the configuration', async () => {
  const config = join(server.directory, 'signet.yaml')
  await reload({ config })
  const written = parse(await readFile(config, 'utf8')) as { admin: object }
  const other = await createSelfSigned({ ca: true })
  const changed = join(server.directory, 'other.yaml')
  const admin = { ...written.admin, tls: { cert: other.pem, key: other.keyPem } }
  await writeFile(changed, stringify({ ...written, admin }))
  await expect(reload({ config: changed })).rejects.toThrow('The admin listener is not responding')
})
