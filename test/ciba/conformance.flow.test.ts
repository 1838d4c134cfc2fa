import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shopClient } from '../support/clients/ciba.js'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../support/clients/client-assertion.js'
import { mtlsFetch, type ClientIdentity } from '../support/clients/mtls-fetch.js'
import { createCertificateAuthority } from '../support/forge/certificates.js'
import { freePort } from '../support/free-port.js'
import { testCertificate } from '../support/server/certificate.js'
import { startCibaServer, type CibaServer, type Phone } from '../support/server/ciba-server.js'
import { noAnswers, openSite, type Site } from '../support/server/site.js'

type Json = Record<string, unknown>

/** What the OpenID Foundation's suite does in its plans of FAPI-CIBA: signed requests, at the alias for mutual TLS. */
const key = newAssertionKey('ES256')
const notificationToken = 'a-notification-token-of-the-shop-8d67dc78'
const methods = ['private_key_jwt', 'tls_client_auth'] as const
const modes = ['poll', 'ping'] as const

let server: CibaServer
let phone: Phone
let alias: string
let shop: Site
let identity: ClientIdentity
beforeAll(async () => {
  shop = await openSite(noAnswers['answers 204'])
  const root = await createCertificateAuthority()
  identity = { certificate: await root.issue({ subject: [{ CN: ['shop'] }] }) }
  const port = await freePort()
  alias = `https://127.0.0.1:${String(port)}`
  const registered = methods.flatMap((method) =>
    modes.map((mode) => ({
      ...{ ...shopClient, client_secret: undefined, client_id: `${method} ${mode}` },
      ...{ token_endpoint_auth_method: method, jwks: { keys: [key.publicJwk] } },
      ...(method === 'tls_client_auth' && { tls_client_auth_subject_dn: 'CN=shop' }),
      tls_client_certificate_bound_access_tokens: true,
      backchannel_authentication_request_signing_alg: 'ES256',
      backchannel_token_delivery_mode: mode,
      ...(mode === 'ping' && { backchannel_client_notification_endpoint: `${shop.url}/ping` }),
    })),
  )
  server = await startCibaServer({}, (written) => ({
    ...written,
    plugins: [...(written['plugins'] as Json[]), { use: 'plugins/client-auth/tls-client-auth' }],
    outbound: { allow_private_addresses: true },
    mtls: { listen: { host: '127.0.0.1', port, tls: testCertificate }, base_url: alias, trust_anchors: [root.pem] },
    clients: registered,
  }))
  phone = await server.newPhone()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await shop[Symbol.asyncDispose]()
})

const seconds = () => Math.floor(server.host.now() / 1000)

describe.each(methods.flatMap((method) => modes.map((mode) => [method, mode] as const)))('%s, %s', (method, mode) => {
  const client_id = `${method} ${mode}`

  const post = async (path: string, form: Record<string, string>, aud: unknown = alias + path) => {
    const assertion = () =>
      signAssertion(key, { alg: key.alg, kid: key.kid }, assertionClaims(client_id, aud, server.host.now()))
    const authentication =
      method === 'private_key_jwt'
        ? { client_assertion_type: assertionType, client_assertion: assertion() }
        : { client_id }
    const body = new URLSearchParams({ ...form, ...authentication })
    const response = await mtlsFetch(identity)(alias + path, { method: 'POST', body })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const objectOf = (overrides: Json = {}, header: Json = {}) => {
    const now = seconds()
    const times = { iat: now, nbf: now, exp: now + 60 }
    const asked = { scope: 'openid', login_hint: 'alice', binding_message: '1234' }
    const claims = { iss: client_id, aud: server.issuer, ...times, jti: crypto.randomUUID(), ...asked, ...overrides }
    const token = mode === 'ping' && { client_notification_token: notificationToken }
    return signAssertion(key, { alg: key.alg, kid: key.kid, ...header }, { ...claims, ...token })
  }
  const start = (overrides: Json = {}, header: Json = {}) =>
    post('/bc-authorize', { request: objectOf(overrides, header) })
  const poll = (auth_req_id: unknown) =>
    post('/token', { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id: String(auth_req_id) })
  const waiting = async () => (await phone.list())[0]!

  it('happy flow: the object has a type in any letters, and the answer comes right after the person has decided', async () => {
    const started = await start({}, { typ: 'OautH-auThZ-REQ+jWt' })
    expect(started).toMatchObject({ status: 200, body: { interval: 5 } })
    const id = started.body['auth_req_id']
    expect(await poll(id)).toMatchObject({ status: 400, body: { error: 'authorization_pending' } })
    expect(await poll(id)).toMatchObject({ status: 400, body: { error: 'slow_down' } })
    await phone.decide(await waiting())
    expect(await poll(id)).toMatchObject({ status: 200, body: { id_token: expect.any(String) as string } })
  })

  it('user rejects authentication, right after a poll', async () => {
    const { body } = await start()
    expect(await poll(body['auth_req_id'])).toMatchObject({ body: { error: 'authorization_pending' } })
    await phone.decide(await waiting(), 'deny')
    for (const error of ['access_denied', 'access_denied'])
      expect(await poll(body['auth_req_id'])).toMatchObject({ status: 400, body: { error } })
  })

  it('auth_req_id expired, 20 s after its end and minutes later', async () => {
    const { body } = await start({ requested_expiry: 10 })
    expect(body).toMatchObject({ expires_in: 10 })
    for (const later of [30_500, 60_000, 400_000]) {
      server.host.later(later)
      expect(await poll(body['auth_req_id'])).toMatchObject({ status: 400, body: { error: 'expired_token' } })
    }
  })

  it.each<[string, () => Json, Json?]>([
    ['another aud', () => ({ aud: 'https://other.example' })],
    ['no aud', () => ({ aud: undefined })],
    ['another iss', () => ({ iss: 'somebody' })],
    ['no iss', () => ({ iss: undefined })],
    ['exp in the past', () => ({ exp: seconds() - 60 })],
    ['no exp', () => ({ exp: undefined })],
    ['exp far ahead', () => ({ exp: seconds() + 7200 })],
    ['no nbf', () => ({ nbf: undefined })],
    ['nbf in the future', () => ({ nbf: seconds() + 600 })],
    ['nbf long ago', () => ({ nbf: seconds() - 7200 })],
    ['no iat', () => ({ iat: undefined })],
    ['no jti', () => ({ jti: undefined })],
    ['a parameter that is neither text nor number', () => ({ binding_message: true })],
    ['another object inside', () => ({ request: 'x' })],
    ['a type of another token', () => ({}), { typ: 'at+jwt' }],
    ['another algorithm', () => ({}), { alg: 'RS256' }],
    ['no algorithm', () => ({}), { alg: 'none' }],
    ['an unknown key', () => ({}), { kid: 'unknown' }],
  ])('a signed request with %s is invalid_request (OpenID CIBA Core §13)', async (_, claims, header = {}) => {
    expect(await start(claims(), header)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect(await phone.list()).toEqual([])
  })

  it('a signed request that was changed or is malformed is invalid_request', async () => {
    const signed = objectOf()
    for (const request of [signed.replace(/[^.]+$/, 'A'.repeat(86)), 'x', `${signed}x`, signed.split('.')[1]!])
      expect(await post('/bc-authorize', { request })).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      })
  })
})
