import { afterAll, beforeAll, expect, it } from 'vitest'
import { cibaGrant, shopClient } from '../support/clients/ciba.js'
import { signAssertion } from '../support/clients/client-assertion.js'
import { createFapiClient, fapiMetadata, keys, type FapiClient } from '../support/clients/fapi-client.js'
import { startCibaServer, type CibaServer, type Phone } from '../support/server/ciba-server.js'
import { decode } from '../support/forge/forge.js'

type Json = Record<string, unknown>

const fapiShop = {
  ...fapiMetadata,
  client_id: 'fapi-shop',
  redirect_uris: [],
  grant_types: [cibaGrant],
  scope: 'openid profile read',
}
const signingShop = {
  ...shopClient,
  client_id: 'signing-shop',
  jwks: fapiMetadata.jwks,
  backchannel_authentication_request_signing_alg: 'ES256',
}

let server: CibaServer
let phone: Phone
let client: FapiClient
beforeAll(async () => {
  server = await startCibaServer({}, (written) => ({
    ...written,
    clients: [...(written['clients'] as Json[]), fapiShop, signingShop],
  }))
  phone = await server.newPhone()
  client = createFapiClient(server.issuer, server.host.now, fapiShop.client_id)
})
afterAll(() => server[Symbol.asyncDispose]())

const claims = (overrides: Json = {}): Json => {
  const now = Math.floor(server.host.now() / 1000)
  return {
    iss: fapiShop.client_id,
    aud: server.issuer,
    iat: now,
    nbf: now,
    exp: now + 60,
    jti: crypto.randomUUID(),
    scope: 'openid profile',
    login_hint: 'alice',
    binding_message: 'Order 1',
    requested_expiry: 60,
    ...overrides,
  }
}
const signed = (overrides: Json = {}, key = keys.ES256) =>
  signAssertion(key, { alg: key.alg, kid: key.kid }, claims(overrides))

it('CB13 a fapi2 client signs its request, and gets tokens bound to its key', async () => {
  const { status, body } = await client.post('/bc-authorize', { request: signed() })
  expect({ status, body }).toMatchObject({ status: 200, body: { expires_in: 60 } })
  const [waiting] = await phone.list()
  expect(waiting?.request).toMatchObject({ client_id: 'fapi-shop', binding_message: 'Order 1' })
  await phone.decide(waiting!)
  const form = { grant_type: cibaGrant, auth_req_id: String(body['auth_req_id']) }
  expect((await client.post('/token', form, { unproved: true })).body['error']).toBe('invalid_dpop_proof')
  const tokens = await client.post('/token', form)
  expect(tokens).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
  expect(decode(String(tokens.body['access_token']), 1)).toMatchObject({ cnf: { jkt: expect.any(String) } })
})

it.each<[string, Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>), string]>([
  ['without a signature', { scope: 'openid', login_hint: 'alice' }, 'invalid_request'],
  ['for another server', () => ({ request: signed({ aud: 'https://other.example' }) }), 'invalid_request'],
  ['of another client', () => ({ request: signed({ iss: 'shop' }) }), 'invalid_request'],
  ['without a time', () => ({ request: signed({ exp: undefined }) }), 'invalid_request'],
  ['without iat', () => ({ request: signed({ iat: undefined }) }), 'invalid_request'],
  ['without jti', () => ({ request: signed({ jti: undefined }) }), 'invalid_request'],
  ['good for two hours', () => ({ request: signed({ exp: (claims()['iat'] as number) + 7200 }) }), 'invalid_request'],
  ['by RS256', () => ({ request: signed({}, keys.RS256) }), 'invalid_request'],
  [
    'with its hint beside it',
    () => ({ request: signed({ login_hint: undefined }), login_hint: 'alice' }),
    'invalid_request',
  ],
])('CB13 a request of a fapi2 client %s is refused', async (_, form, error) => {
  const { status, body } = await client.post('/bc-authorize', typeof form === 'function' ? form() : form)
  expect({ status, error: body['error'] }).toEqual({ status: 400, error })
  expect(await phone.list()).toEqual([])
})

it('CB13 a signed request is accepted once, and is not consumed when refused', async () => {
  const jti = crypto.randomUUID()
  const request = signed({ jti })
  const ask = async (of: string) => {
    const { status, body } = await client.post('/bc-authorize', { request: of })
    return [status, body['error']]
  }
  expect(await ask(signed({ jti, login_hint: 'nobody' }))).toEqual([400, 'unknown_user_id'])
  const all = await Promise.all(Array.from({ length: 5 }, () => ask(request)))
  expect(all.filter(([status]) => status === 200)).toHaveLength(1)
  expect(all.filter(([, error]) => error === 'invalid_request')).toHaveLength(4)
  expect(await ask(signed({ jti, binding_message: 'Order 2' }))).toEqual([400, 'invalid_request'])
  expect(await phone.list()).toHaveLength(1)
  await phone.decide((await phone.list())[0]!)
  expect(await ask(signed())).toEqual([200, undefined])
  await phone.decide((await phone.list())[0]!)
})

it('CB13 a client that registered a signing algorithm is refused when it does not sign', async () => {
  const plain = await server.ask({ login_hint: 'alice' }, signingShop)
  expect(plain).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  const other = await server.ask({ request: signed({ iss: signingShop.client_id }, keys.ES384) }, signingShop)
  expect(other).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  const right = await server.ask({ request: signed({ iss: signingShop.client_id }) }, signingShop)
  expect(right).toMatchObject({ status: 200 })
  await phone.decide((await phone.list())[0]!, 'deny')
})
