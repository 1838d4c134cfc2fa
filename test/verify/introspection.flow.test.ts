import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createResourceServer, type ResourceServerOptions } from '../../libraries/verify/index.js'
import { newAssertionKey } from '../support/clients/client-assertion.js'
import { accessTokenHash } from '../support/clients/dpop-proof.js'
import { createFapiClient, fapiMetadata, type FapiClient } from '../support/clients/fapi-client.js'
import { createCertificateAuthority, type IssuedCertificate } from '../support/forge/certificates.js'
import { freePort } from '../support/free-port.js'
import { testCertificate } from '../support/server/certificate.js'
import { startTokenServer, type TokenServer } from '../support/server/token-server.js'

type Json = Record<string, unknown>
type Introspection = NonNullable<ResourceServerOptions['introspection']>

const audience = 'https://api.example/orders'
const keys = {
  ES256: newAssertionKey('ES256', 'ec'),
  EdDSA: newAssertionKey('EdDSA', 'ed'),
  PS256: newAssertionKey('PS256', 'rsa'),
}
const api = {
  ...fapiMetadata,
  ...{ redirect_uris: [], grant_types: ['client_credentials'], introspection_audiences: [audience] },
}

describe.each([
  ['plain answers', []],
  ['signed answers', ['introspection']],
] as const)('an API of a fapi2 deployment with %s', (_, fapi2_message_signing) => {
  let issuer: TokenServer
  let client: FapiClient
  let alias: string
  let certificate: IssuedCertificate
  beforeAll(async () => {
    const root = await createCertificateAuthority()
    certificate = await root.issue({ subject: [{ CN: ['api'] }] })
    const port = await freePort()
    alias = `https://127.0.0.1:${String(port)}`
    issuer = await startTokenServer({
      configure: (written) => ({
        ...written,
        security_profile: 'fapi2',
        fapi2_message_signing,
        resources: [{ identifier: audience, scope: 'read' }],
        mtls: { listen: { host: '127.0.0.1', port, tls: testCertificate }, base_url: alias, trust_anchors: [root.pem] },
        plugins: [
          ...(written['plugins'] as Json[]).filter(({ use }) => use !== 'plugins/client-auth/client-secret'),
          { use: 'plugins/client-auth/tls-client-auth' },
        ],
        clients: [
          {
            ...fapiMetadata,
            grant_types: ['client_credentials'],
            redirect_uris: [],
            scope: 'read',
            allowed_audiences: [audience],
          },
          { ...api, client_id: 'by-key', jwks: { keys: Object.values(keys).map(({ publicJwk }) => publicJwk) } },
          {
            ...{ ...api, jwks: undefined, client_id: 'by-certificate', token_endpoint_auth_method: 'tls_client_auth' },
            tls_client_auth_subject_dn: 'CN=api',
          },
        ],
      }),
    })
    client = createFapiClient(issuer.server.issuer, issuer.now)
  })
  afterAll(() => issuer[Symbol.asyncDispose]())

  const byKey = (alg: keyof typeof keys): Introspection => {
    const { privateKey, kid } = keys[alg]
    return { endpoint: `${issuer.server.issuer}/introspect`, clientId: 'by-key', privateKey: { key: privateKey, kid } }
  }
  const byCertificate = (): Introspection => ({
    endpoint: `${alias}/introspect`,
    clientId: 'by-certificate',
    certificate: { cert: certificate.pem, key: certificate.keyPem, ca: testCertificate.cert },
  })
  const newToken = async (): Promise<string> => {
    const { body } = await client.post('/token', {
      grant_type: 'client_credentials',
      scope: 'read',
      resource: audience,
    })
    return String(body['access_token'])
  }
  const serverWith = (introspection: Introspection | undefined) =>
    createResourceServer({
      ...{ issuers: [issuer.server.issuer], audience, clock: issuer.now },
      ...(introspection && { introspection }),
    }).requireAccessToken({ scope: 'read' })
  const check = (by: ReturnType<typeof serverWith>, token: string) => {
    const claims = { htm: 'GET', ath: accessTokenHash(token) }
    const dpop = client.own.proof('https://api.example/orders', undefined, { claims })
    const request = new Request('https://api.example/orders', { headers: { authorization: `DPoP ${token}`, dpop } })
    return by.check(request).then(
      ({ clientId }) => clientId,
      ({ reason }: { reason: string }) => reason,
    )
  }

  it.each<[string, () => Introspection]>([
    ['private_key_jwt with ES256', () => byKey('ES256')],
    ['private_key_jwt with EdDSA', () => byKey('EdDSA')],
    ['private_key_jwt with PS256', () => byKey('PS256')],
    [
      'a key in PEM',
      () => ({
        ...byKey('ES256'),
        privateKey: { key: String(keys.ES256.privateKey.export({ type: 'pkcs8', format: 'pem' })), kid: 'ec' },
      }),
    ],
    ['a certificate', byCertificate],
  ])('VR46: learns at once, by %s, that a token was revoked', async (_name, introspection) => {
    const [asking, alone] = [serverWith(introspection()), serverWith(undefined)]
    const token = await newToken()
    for (const outcome of ['bank-app', 'bank-app']) expect(await check(asking, token)).toBe(outcome)
    await client.post('/revoke', { token })
    expect([await check(asking, token), await check(alone, token)]).toEqual(['token_revoked', 'bank-app'])
  })

  it('never takes a refusal of itself for an answer about the token', async () => {
    const stranger = newAssertionKey('ES256', 'ec')
    const token = await newToken()
    for (const introspection of [
      { ...byKey('ES256'), privateKey: { key: stranger.privateKey, kid: 'ec' } },
      { ...byKey('ES256'), clientId: 'nobody' },
      { ...byCertificate(), clientId: 'by-key' },
      { ...byCertificate(), certificate: { ...byCertificate().certificate!, ca: certificate.pem } },
    ])
      expect(await check(serverWith(introspection), token)).toBe('introspection_unavailable')
  })
})

it('an API refuses introspection options that make no sense', () => {
  const make = (introspection: Introspection, issuers = ['https://id.example']) =>
    createResourceServer({ issuers, audience, introspection })
  const common = { endpoint: 'https://id.example/introspect', clientId: 'api' }
  const privateKey = { key: keys.ES256.privateKey }
  const certificate = { cert: 'x', key: 'x' }
  const two = ['https://id.example', 'https://other.example']
  for (const [wrong, message, issuers] of [
    [common, /one of clientSecret, privateKey and certificate/],
    [{ ...common, clientSecret: 'a', privateKey }, /one of clientSecret/],
    [{ ...common, privateKey, certificate }, /one of clientSecret/],
    [{ ...common, privateKey }, /issuer is needed/, two],
    [{ ...common, privateKey, issuer: 'https://third.example' }, /issuer is not trusted/, two],
    [{ ...common, endpoint: 'http://127.0.0.1/introspect', certificate }, /needs https/],
    [{ ...common, privateKey: { key: generateKeyPairSync('ed448').privateKey } }, /signs nothing/],
  ] as const)
    expect(() => make(wrong, issuers && [...issuers])).toThrow(message)
  expect(() => make({ ...common, privateKey, issuer: two[1]! }, two)).not.toThrow()
  expect(() => make({ ...common, clientSecret: 'a' }, two)).not.toThrow()
})
