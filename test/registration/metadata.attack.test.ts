import { describe, expect, it } from 'vitest'
import { bearer, issueToken, post } from '../support/clients/registration.js'
import { host, issuer, refused, setUpRegistration, web } from '../support/server/registration-set-up.js'
import { redirectUri } from '../support/server/server.js'
import { expectRefusal } from '../support/server/token-server.js'

setUpRegistration()

type Json = Record<string, unknown>

describe('RG07', () => {
  const wrong: Json[] = [
    ...['redirect_uris', 'grant_types', 'response_types', 'contacts', 'request_uris', 'default_acr_values'].flatMap(
      (name) => ['text', 5, true, { 0: 'x' }, [5], [{}], [null], [['x']]].map((value) => ({ [name]: value })),
    ),
    ...[
      'client_name',
      'scope',
      'logo_uri',
      'jwks_uri',
      'token_endpoint_auth_method',
      'id_token_signed_response_alg',
    ].flatMap((name) => [5, true, {}, ['x']].map((value) => ({ [name]: value }))),
    ...['default_max_age', 'require_auth_time', 'dpop_bound_access_tokens', 'application_type', 'subject_type'].flatMap(
      (name) => ['x', {}, ['x'], -1].map((value) => ({ [name]: value })),
    ),
    { scope: 'openid  profile' },
    { scope: '' },
    { grant_types: [] },
    { response_types: ['token'] },
    { response_types: ['code', 'id_token'] },
    { token_endpoint_auth_method: 'client_secret_jwt' },
    { id_token_signed_response_alg: 'none' },
    { id_token_signed_response_alg: 'HS256' },
    { userinfo_signed_response_alg: 'none' },
    { id_token_encrypted_response_alg: 'RSA1_5' },
    { default_max_age: 1e300 },
  ]
  it('refuses wrong types and values for each member', async () => {
    for (const metadata of wrong) await refused({ ...web, ...metadata })
  })

  it.each([
    ['no body', ''],
    ['no JSON', '{'],
    ['a list', '[]'],
    ['null', 'null'],
    ['text', '"x"'],
    ['a member twice', `{"redirect_uris":["${redirectUri}"],"redirect_uris":["https://evil.example/"]}`],
    ['__proto__', `{"redirect_uris":["${redirectUri}"],"__proto__":{"disabled":false}}`],
    ['constructor, deep', `{"redirect_uris":["${redirectUri}"],"x":[{"constructor":1}]}`],
    ['10,000 levels', `{"x":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
    ['5,000 URIs', JSON.stringify({ redirect_uris: Array.from({ length: 5000 }, () => 'a:b') })],
    ['101 URIs', JSON.stringify({ redirect_uris: Array.from({ length: 101 }, (_, n) => `${redirectUri}?${n}`) })],
    ['3,000 keys', JSON.stringify({ ...web, jwks: { keys: Array.from({ length: 3000 }, () => ({})) } })],
    ['UTF-16', '{\0"\0r\0'],
  ])('refuses %s', async (_, body) => {
    await refused(body)
  })

  it('bounds the body, and takes JSON alone', async () => {
    const many = JSON.stringify({ redirect_uris: Array.from({ length: 10_000 }, (_, n) => `${redirectUri}/${n}`) })
    expectRefusal(await post(issuer, many), 413, 'invalid_request')
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    expectRefusal(await post(issuer, 'redirect_uris=x', form), 415, 'invalid_request')
    const answer = await post(`${issuer}`, JSON.stringify(web), { 'content-type': 'application/json; charset=latin1' })
    expectRefusal(answer, 415, 'invalid_request')
  })

  it('ignores 1,500 members that are not understood', async () => {
    const others = Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [`x${n}`, n]))
    const token = await issueToken(host.store, host.now)
    const answer = await post(issuer, { ...others, ...web }, bearer(token))
    expect(Object.keys(answer.body)).not.toContain('x1')
    expect(await host.store.records('clients').remove(String(answer.body['client_id']))).toBe(true)
  })
})

describe('RG08', () => {
  it('ignores what is not for the client to say', async () => {
    const owned = {
      client_id: 'web',
      client_secret: 'a-secret-that-the-client-has-chosen-itself',
      client_secret_expires_at: 1,
      client_id_issued_at: 1,
      registration_access_token: 'x'.repeat(43),
      registration: { policy: 'x' },
      disabled: true,
      consent: 'implicit',
      metadata: { admin: true },
      introspection_audiences: ['https://api.example'],
      client_secret_sha256: 'x',
    }
    const { body } = await post(issuer, { ...owned, ...web })
    const id = String(body['client_id'])
    const stored = await host.store.records<Json>('clients').find(id)
    expect(Object.keys(stored ?? {}).toSorted()).toEqual(
      [
        ...['allowed_audiences', 'application_type', 'client_id', 'client_secret_sha256', 'grant_types'],
        ...['id_token_signed_response_alg', 'metadata', 'redirect_uris', 'registration', 'response_types', 'scope'],
        ...['security_profile', 'token_endpoint_auth_method'],
      ].toSorted(),
    )
    expect(stored?.['metadata']).toEqual({})
    expect(id).not.toBe('web')
    expect(body['client_secret']).not.toBe(owned.client_secret)
    expect(body['client_secret_expires_at']).toBe(0)
    expect(body['registration_access_token']).not.toBe(owned.registration_access_token)
    expect(await host.store.records('clients').remove(id)).toBe(true)
  })

  it.each<Json>([
    { grant_types: ['authorization_code', 'client_credentials'] },
    { grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:token-exchange'] },
    { grant_types: ['password'] },
    { token_endpoint_auth_method: 'client_secret_post' },
    { token_endpoint_auth_method: 'tls_client_auth' },
    { scope: 'openid read' },
    { scope: 'openid admin' },
    { id_token_signed_response_alg: 'RS256' },
    { userinfo_signed_response_alg: 'EdDSA' },
    { token_endpoint_auth_signing_alg: 'Ed25519' },
    { request_object_signing_alg: 'PS256' },
    { allowed_audiences: ['https://api.example'] },
    { authorization_details_types: ['payment'] },
    { security_profile: 'fapi2' },
    { security_profile: 5 },
  ])('refuses %j, and does not repeat it', async (more) => {
    const [[name = '', value] = []] = Object.entries(more)
    const answer = await refused({ ...web, ...more })
    expect(answer.body['error_description']).toContain(name)
    for (const text of [value].flat().filter((one) => typeof one === 'string'))
      expect(answer.body['error_description']).not.toContain(text)
  })
})
