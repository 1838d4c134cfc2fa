import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeJws } from '../support/clients/attestation.js'
import { signIn } from '../support/clients/authorization.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { mtlsFetch, type ClientIdentity } from '../support/clients/mtls-fetch.js'
import {
  createCertificateAuthority,
  createSelfSigned,
  type CertificateAuthority,
  type IssuedCertificate,
} from '../support/forge/certificates.js'
import { freePort } from '../support/free-port.js'
import { deviceGrant, personAt } from '../support/clients/device.js'
import { testCertificate } from '../support/server/certificate.js'
import { person, redirectUri, startServer, subject, type TestServer } from '../support/server/server.js'

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'

const grants = ['authorization_code', 'refresh_token', 'client_credentials', deviceGrant, exchangeGrant]
const common = { redirect_uris: [redirectUri], grant_types: grants, tls_client_certificate_bound_access_tokens: true }

let root: CertificateAuthority
let middle: CertificateAuthority
let bank: ClientIdentity & { certificate: IssuedCertificate }
let own: ClientIdentity & { certificate: IssuedCertificate }
let stranger: ClientIdentity & { certificate: IssuedCertificate }
/** Without the authority above it. */
let orphan: ClientIdentity
let server: TestServer
let base: string

beforeAll(async () => {
  root = await createCertificateAuthority()
  middle = await root.intermediate()
  const name = [{ C: ['DE'] }, { O: ['Example Bank'] }, { CN: ['app'] }]
  bank = { certificate: await middle.issue({ subject: name }), chain: [middle] }
  own = { certificate: await createSelfSigned() }
  stranger = { certificate: await root.issue({ subject: [{ CN: ['app'] }] }) }
  orphan = { certificate: await middle.issue({ subject: name }) }
  const port = await freePort()
  base = `https://127.0.0.1:${String(port)}`
  server = await startServer({
    configure: (configuration) => ({
      ...configuration,
      token_exchange_enabled: true,
      mtls: { listen: { host: '127.0.0.1', port, tls: testCertificate }, base_url: base, trust_anchors: [root.pem] },
      plugins: [
        ...(configuration['plugins'] as unknown[]),
        { use: 'plugins/grants/device-code' },
        { use: 'plugins/grants/token-exchange' },
        { use: 'plugins/client-auth/tls-client-auth' },
        { use: 'plugins/client-auth/self-signed-tls-client-auth' },
      ],
      clients: [
        {
          ...{ ...common, client_id: 'bank', token_endpoint_auth_method: 'tls_client_auth' },
          tls_client_auth_subject_dn: 'CN=app, O=example bank, C=DE',
        },
        {
          ...{ ...common, client_id: 'own', token_endpoint_auth_method: 'self_signed_tls_client_auth' },
          jwks: { keys: [{ ...own.certificate.publicJwk, kid: 'own' }] },
        },
        { ...common, client_id: 'app', token_endpoint_auth_method: 'none', grant_types: grants.slice(0, 2) },
      ],
    }),
  })
})
afterAll(async () => server[Symbol.asyncDispose]())

const discover = async (clientId: string, authentication: oidc.ClientAuth, identity: ClientIdentity) => {
  const metadata = { use_mtls_endpoint_aliases: true }
  const client = await oidc.discovery(new URL(server.issuer), clientId, metadata, authentication, {
    execute: [oidc.allowInsecureRequests],
  })
  const overTls = mtlsFetch(identity)
  client[oidc.customFetch] = (url, options) =>
    url.startsWith('https:') ? overTls(url, options as RequestInit) : fetch(url, options as RequestInit)
  return client
}

const thumbprintOf = ({ certificate }: { certificate: IssuedCertificate }) => certificate.shown().thumbprint
const confirmation = (token: string) => decodeJws(token).payload['cnf']

describe.each([
  ['bank', () => bank],
  ['own', () => own],
] as const)('openid-client as %s, over a listener of our own', (clientId, identityOf) => {
  it('gets tokens that are bound to its certificate, by every grant', async () => {
    const cnf = { 'x5t#S256': thumbprintOf(identityOf()) }
    const client = await discover(clientId, oidc.TlsClientAuth(), identityOf())
    const machine = await oidc.clientCredentialsGrant(client, { scope: 'read' })
    expect(machine.token_type).toBe('bearer')
    const signedIn = await signIn(client)
    const refreshed = await oidc.refreshTokenGrant(client, signedIn.refresh_token ?? '')
    expect([machine, signedIn, refreshed].map(({ access_token }) => confirmation(access_token))).toEqual([
      cnf,
      cnf,
      cnf,
    ])
    expect(await oidc.tokenIntrospection(client, refreshed.access_token)).toMatchObject({ active: true, cnf })
    expect(await oidc.fetchUserInfo(client, refreshed.access_token, subject)).toMatchObject({ sub: subject })
    const issued = (await server.audit()).filter(
      ({ event, client_id }) => event === 'token.issued' && client_id === clientId,
    )
    expect(issued.map((line) => line['x5t#S256'])).toEqual(Array(3).fill(cnf['x5t#S256']))
  })
})

it('openid-client: by the device flow, and by token exchange', async () => {
  const client = await discover('bank', oidc.TlsClientAuth(), bank)
  const cnf = { 'x5t#S256': thumbprintOf(bank) }
  const started = await oidc.initiateDeviceAuthorization(client, { scope: 'openid' })
  await personAt(new UserAgent(), server.issuer).answer(person, started.user_code)
  const onDevice = await oidc.pollDeviceAuthorizationGrant(client, { ...started, interval: 0 })
  expect(confirmation(onDevice.access_token)).toEqual(cnf)
  const exchanged = await oidc.genericGrantRequest(client, exchangeGrant, {
    subject_token: onDevice.access_token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  })
  expect(confirmation(exchanged.access_token)).toEqual(cnf)
  expect(await oidc.tokenIntrospection(client, exchanged.access_token)).toMatchObject({ active: true, cnf })
})

it('openid-client as a public client: its refresh token is bound to the certificate', async () => {
  const client = await discover('app', oidc.None(), own)
  const signedIn = await signIn(client)
  const thief = await discover('app', oidc.None(), stranger)
  await expect(oidc.refreshTokenGrant(thief, signedIn.refresh_token ?? '')).rejects.toMatchObject({
    error: 'invalid_grant',
  })
  const refreshed = await oidc.refreshTokenGrant(client, signedIn.refresh_token ?? '')
  expect(confirmation(refreshed.access_token)).toEqual({ 'x5t#S256': thumbprintOf(own) })
})

it('oauth4webapi: client credentials and DPoP beside the certificate, both of which then hold', async () => {
  const issuer = new URL(server.issuer)
  const insecure = { [oauth.allowInsecureRequests]: true }
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
  expect(as.tls_client_certificate_bound_access_tokens).toBe(true)
  expect(as.token_endpoint_auth_methods_supported).toEqual(
    expect.arrayContaining(['tls_client_auth', 'self_signed_tls_client_auth']),
  )
  const client: oauth.Client = { client_id: 'bank', use_mtls_endpoint_aliases: true }
  const keys = await oauth.generateKeyPair('ES256')
  const DPoP = oauth.DPoP({}, keys)
  const via = { [oauth.customFetch]: mtlsFetch(bank), DPoP }
  const ask = () =>
    oauth.clientCredentialsGrantRequest(as, client, oauth.TlsClientAuth(), new URLSearchParams({ scope: 'read' }), via)
  const token = await oauth
    .processClientCredentialsResponse(as, client, await ask())
    .catch(async () => oauth.processClientCredentialsResponse(as, client, await ask()))
  expect(token.token_type).toBe('dpop')
  expect(confirmation(token.access_token)).toEqual({
    'x5t#S256': thumbprintOf(bank),
    jkt: expect.stringMatching(/^[\w-]{43}$/),
  })
})

describe('MT30 /userinfo refuses a bound token', () => {
  const ask = (token: string, identity: ClientIdentity, path = '/userinfo') =>
    mtlsFetch(identity)(`${base}${path}`, { headers: { authorization: `Bearer ${token}` } })

  it.each<[string, () => ClientIdentity]>([
    ['with the certificate of another client', () => own],
    ['without a certificate', () => ({})],
  ])('%s', async (_what, identityOf) => {
    const client = await discover('bank', oidc.TlsClientAuth(), bank)
    const { access_token: token } = await signIn(client)
    const answer = await ask(token, identityOf())
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"')
    const here = await fetch(`${server.issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } })
    expect(here.status).toBe(401)
    expect((await ask(token, bank)).status).toBe(200)
  })
})

describe('a client with a certificate is refused', () => {
  const ask = (identity: ClientIdentity, form: Record<string, string>, at = base) =>
    mtlsFetch(identity)(`${at}/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', ...form }),
    })

  it.each<[string, () => ClientIdentity, string, number, string, string]>([
    ['MT31 no certificate', () => ({}), 'bank', 401, 'invalid_client', 'method is not the registered one'],
    ['MT32 another subject', () => stranger, 'bank', 401, 'invalid_client', 'the certificate is for another subject'],
    [
      'MT33 another key',
      () => stranger,
      'own',
      401,
      'invalid_client',
      'the key of the certificate is none of the client',
    ],
    [
      'MT34 without its chain',
      () => orphan,
      'bank',
      401,
      'invalid_client',
      'the certificate is not trusted: no trust anchor has issued it',
    ],
  ])('%s', async (_what, identityOf, clientId, status, error, reason) => {
    const answer = await ask(identityOf(), { client_id: clientId })
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({ status, body: { error } })
    const told = async () => (await server.audit()).map((line) => line['reason'])
    await expect.poll(told).toContain(reason)
  })

  it('MT35 for a bound token without one, before its grant is touched', async () => {
    const signedIn = await signIn(await discover('app', oidc.None(), own))
    const form = { grant_type: 'refresh_token', client_id: 'app', refresh_token: signedIn.refresh_token ?? '' }
    const answer = await ask({}, form)
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    })
    expect((await ask(own, form)).status).toBe(200)
  })
})

describe('the listener for certificates', () => {
  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'accepts connections with any certificate, or none, over %s',
    async (version) => {
      const versions = { minVersion: version, maxVersion: version }
      const expired = await root.issue({ notAfter: new Date(Date.now() - 1000) })
      for (const identity of [{}, own, { certificate: expired }])
        expect((await mtlsFetch({ ...identity, ...versions })(`${base}/jwks.json`)).status).toBe(200)
    },
  )

  it('serves no page', async () => {
    for (const path of ['/authorize?client_id=app', '/', '/device'])
      expect((await mtlsFetch(own)(`${base}${path}`)).status).toBe(404)
  })

  it('is announced by discovery, with its endpoints', async () => {
    const document = (await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()) as Record<
      string,
      unknown
    >
    expect(document['mtls_endpoint_aliases']).toEqual({
      token_endpoint: `${base}/token`,
      device_authorization_endpoint: `${base}/device_authorization`,
      introspection_endpoint: `${base}/introspect`,
      revocation_endpoint: `${base}/revoke`,
      userinfo_endpoint: `${base}/userinfo`,
      pushed_authorization_request_endpoint: `${base}/par`,
    })
  })
})
