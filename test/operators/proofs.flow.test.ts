import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { noLog } from '../../core/observe/log.js'
import { mtlsFetch, type ClientIdentity } from '../support/clients/mtls-fetch.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { createCertificateAuthority, serverAuth, type CertificateAuthority } from '../support/forge/certificates.js'
import { freePort } from '../support/free-port.js'
import { testCertificate } from '../support/server/certificate.js'
import { openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'
import { OperatorBrowser } from '../support/server/operator-browser.js'
import { person, startServer, subject, testConfiguration, type TestServer } from '../support/server/server.js'
import { prepareStores } from '../support/stores/test-stores.js'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { loadPages } from '../../core/host/load-pages.js'

const san = (value: string) => [{ type: 'dns', value } as const]

let root: CertificateAuthority
beforeAll(async () => {
  root = await createCertificateAuthority()
})

/** People who come with certificates. */
const operatorsBy = (trustAnchor: string) => ({
  trust_anchors: [trustAnchor],
  people: [
    { name: 'ada', roles: ['operator'], certificate: { tls_client_auth_san_dns: 'ada.bank.example' } },
    { name: 'bob', roles: ['operator'], disabled: true, certificate: { tls_client_auth_san_dns: 'bob.bank.example' } },
  ],
})

const self = async (admin: string, as: ClientIdentity, init: RequestInit = {}) => {
  const reply = await mtlsFetch(as)(`${admin}/api/v1/operators/self`, init)
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
}

describe('an operator with a certificate', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      log: noLog,
      configure: (written) => ({
        ...written,
        admin: { host: '127.0.0.1', port: 0, token: 'a-token-of-the-admin-listener', tls: testCertificate },
        operators: operatorsBy(root.pem),
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  it('authenticates each request, and nobody else does (AD38)', async () => {
    const own = { certificate: await root.issue({ san: san('ada.bank.example') }) }
    expect(await self(server.admin, own)).toMatchObject({ status: 200, body: { name: 'ada', proof: 'certificate' } })
    const stranger = await createCertificateAuthority()
    const year = 365 * 86_400_000
    const wrong: Readonly<Record<string, ClientIdentity>> = {
      'no certificate': {},
      'another authority': { certificate: await stranger.issue({ san: san('ada.bank.example') }), chain: [stranger] },
      'another subject': { certificate: await root.issue({ san: san('eve.bank.example') }) },
      'not for clients': { certificate: await root.issue({ san: san('ada.bank.example'), eku: [serverAuth] }) },
      expired: {
        certificate: await root.issue({
          ...{ san: san('ada.bank.example'), notBefore: new Date(Date.now() - year) },
          notAfter: new Date(Date.now() - 60_000),
        }),
      },
      disabled: { certificate: await root.issue({ san: san('bob.bank.example') }) },
    }
    for (const [what, as] of Object.entries(wrong)) expect((await self(server.admin, as)).status, what).toBe(401)
    const inHeader = { 'client-cert': `:${own.certificate.der.toString('base64')}:` }
    expect((await self(server.admin, {}, { headers: inHeader })).status).toBe(401)
    // A browser sends it for any site.
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
      expect((await self(server.admin, own, { headers })).status).toBe(401)
  })
})

describe('an operator who signs in at an issuer', () => {
  const port = freePort()
  let server: TestServer
  beforeAll(async () => {
    const base = `http://localhost:${String(await port)}/signet`
    server = await startServer({
      configure: (written) => ({
        ...written,
        admin: { host: '127.0.0.1', port: Number(new URL(base).port), base_url: base },
        operators: {
          oidc: {
            ...{ issuer: written['issuer'], client_id: 'signet-admin', client_secret: 'a-secret-of-the-admin-console' },
            roles: { from: 'email', map: { 'alice@bank.example': 'viewer' } },
            scopes: ['openid', 'email'],
          },
        },
        outbound: { allow_private_addresses: true },
        claims: { email: { in: ['id_token'] } },
        clients: [
          ...(written['clients'] as object[]),
          {
            ...{
              client_id: 'signet-admin',
              client_secret: 'a-secret-of-the-admin-console',
              grant_types: ['authorization_code'],
            },
            redirect_uris: [`${base}/console/sign-in/oidc/callback`],
          },
        ],
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const begin = async () => {
    const browser = new OperatorBrowser(server.admin)
    const { location, status } = await browser.post('/signet/console/sign-in/oidc', {})
    expect(status).toBe(303)
    return { browser, callback: await new UserAgent().authorize(location!, person) }
  }

  it('gets the roles that the claim maps to, and goes on from a page of our own', async () => {
    const { browser, callback } = await begin()
    const reply = await browser.open(callback.href, { 'Sec-Fetch-Site': 'cross-site' })
    expect(reply).toMatchObject({ status: 200, html: expect.stringContaining('href="/signet/console"') })
    const self = await browser.open('/signet/api/v1/operators/self', { 'Sec-Fetch-Site': 'same-origin' })
    expect(JSON.parse(self.html)).toMatchObject({ name: `oidc:${subject}`, roles: ['viewer'], proof: 'oidc' })
    expect((await browser.open('/signet/console')).status).toBe(200)
    expect((await browser.open('/signet/console/people')).status).not.toBe(200)
  })

  it('is refused with the answer of another browser, a used one, or another state (AD39)', async () => {
    const { browser, callback } = await begin()
    const other = new OperatorBrowser(server.admin)
    expect((await other.open(callback.href)).status).toBe(400)
    expect((await browser.open(callback.href)).status).toBe(400)
    const again = await begin()
    const forged = new URL(again.callback)
    forged.searchParams.set('iss', 'https://evil.example')
    expect((await again.browser.open(forged.href)).status).toBe(400)
    const second = await begin()
    const third = await begin()
    const swapped = new URL(second.callback)
    swapped.searchParams.set('code', third.callback.searchParams.get('code')!)
    expect((await second.browser.open(swapped.href)).status).toBe(400)
  })
})

describe('operators of a service with workers', () => {
  let commands: CommandLine
  let service: Service
  beforeAll(async () => {
    commands = await openCommandLine()
    const port = await freePort()
    const written = {
      ...testConfiguration(commands.folder, await freePort()),
      workers: 2,
      admin: {
        ...{ host: '127.0.0.1', port, token: 'a-token-of-the-admin-listener', tls: testCertificate },
        base_url: `https://localhost:${String(port)}`,
      },
      operators: operatorsBy(root.pem),
    }
    await commands.write('signet.yaml', stringify(written))
    const checked = await checkConfiguration(join(commands.folder, 'signet.yaml'), {}, loadPages)
    await prepareStores(checked.config, false)
    service = await commands.serve(['start', '--config', 'signet.yaml'])
  })
  afterAll(() => commands[Symbol.asyncDispose]())

  it('are known by the certificate of their connection, and by a session on each worker (AD38)', async () => {
    const own = { certificate: await root.issue({ san: san('ada.bank.example') }) }
    await expect.poll(async () => (await self(service.admin, own)).status).toBe(200)
    const inHeader = { 'client-cert': `:${own.certificate.der.toString('base64')}:` }
    expect((await self(service.admin, {}, { headers: inHeader })).status).toBe(401)

    const { stdout } = await commands.run(['operators', 'link', 'ada', '--json', '--config', 'signet.yaml'])
    const { url } = JSON.parse(stdout) as { url: string }
    const { origin } = new URL(url)
    const used = await mtlsFetch({})(url.replace(origin, service.admin), {
      method: 'POST',
      headers: { origin, host: new URL(origin).host, 'sec-fetch-site': 'same-origin' },
    })
    expect(used.status).toBe(303)
    const [cookie = ''] = used.headers.getSetCookie()
    expect(cookie).toMatch(/^__Host-signet-operator=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
    const headers = { cookie: cookie.split(';')[0]!, host: new URL(origin).host, 'sec-fetch-site': 'same-origin' }
    const open = async () => (await mtlsFetch({})(`${service.admin}/api/v1/operators/self`, { headers })).status
    expect([await open(), await open(), await open()]).toEqual([200, 200, 200])
    await commands.run(['operators', 'update', 'ada', '--disable', '--config', 'signet.yaml'])
    expect([await open(), await open(), await open()]).toEqual([401, 401, 401])
  })
})
