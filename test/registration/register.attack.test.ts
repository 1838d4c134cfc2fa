import { describe, expect, it } from 'vitest'
import { newAssertionKey } from '../support/clients/client-assertion.js'
import { bearer, issueToken, post } from '../support/clients/registration.js'
import { unseenTexts } from '../support/forge/unseen-texts.js'
import { host, issuer, refused, setUpRegistration, web } from '../support/server/registration-set-up.js'
import { redirectUri } from '../support/server/server.js'
import { expectRefusal } from '../support/server/token-server.js'

setUpRegistration()

describe('RG01', () => {
  it('a token that is not one gets 401, also where none is needed', async () => {
    const good = await issueToken(host.store, host.now)
    const [id] = good.split('.')
    const used = await issueToken(host.store, host.now, { used: 1 })
    for (const token of [
      'not-a-token',
      `${id}.${'A'.repeat(43)}`,
      good.slice(0, -1),
      `${good}x`,
      good.toUpperCase(),
      used,
    ]) {
      const answer = await post(issuer, web, bearer(token))
      expectRefusal(answer, 401, 'invalid_token')
      expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
      expect(answer.text).not.toContain(token)
    }
    expectRefusal(await post(`${issuer}`, web, { authorization: `Basic ${btoa(good)}` }), 401, 'invalid_token')
    expectRefusal(await post(`${issuer}`, web, { authorization: `DPoP ${good}` }), 401, 'invalid_token')
  })
})

describe('RG02', () => {
  it.each([
    'javascript:alert(1)',
    'JAVASCRIPT:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'vbscript:x',
    'blob:https://client.example/x',
    'https://client.example/cb#fragment',
    'https://client.example/cb#',
    'https://*.client.example/cb',
    'https://client.example/*',
    'http://client.example/cb',
    'http://127.0.0.1.client.example/',
    'http://localhost.client.example/',
    'https://user@client.example/cb',
    'https:client.example/cb',
    'https:///cb',
    '/cb',
    '',
    'https://client.example/\r\nx',
    'https://client.example/\u00e9',
    'app:/cb',
    'com.example.app:/cb',
    `https://client.example/${'x'.repeat(2020)}`,
  ])('refuses the redirect URI %j', async (uri) => {
    await refused({ redirect_uris: [redirectUri, uri] }, 'invalid_redirect_uri')
  })

  it('refuses none for the code flow', async () => {
    await refused({}, 'invalid_redirect_uri')
    await refused({ redirect_uris: [] }, 'invalid_redirect_uri')
  })

  it('refuses a private-use scheme without a dot for native clients, too', async () => {
    await refused({ application_type: 'native', redirect_uris: ['myapp:/cb'] }, 'invalid_redirect_uri')
  })

  it('refuses such a place after the sign-out', async () => {
    await refused({ ...web, post_logout_redirect_uris: ['javascript:alert(1)'] })
  })
})

const uriMembers = [
  'client_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'initiate_login_uri',
  'jwks_uri',
  'sector_identifier_uri',
  'backchannel_logout_uri',
  'backchannel_client_notification_endpoint',
  'request_uris',
]

describe('RG03', () => {
  const places = [
    'https://127.0.0.1/x',
    'https://localhost/x',
    'https://LOCALHOST./x',
    'https://a.localhost/x',
    'https://2130706433/x',
    'https://0x7f.1/x',
    'https://[::1]/x',
    'https://[::ffff:10.0.0.1]/x',
    'https://[64:ff9b::a00:1]/x',
    'https://10.0.0.1/x',
    'https://169.254.169.254/latest/meta-data/',
    'https://[fe80::1]/x',
    'http://127.0.0.1:8080/x',
    'http://client.example/x',
    'javascript:alert(1)',
    'data:image/png;base64,AA==',
    'https://user:password@client.example/x',
    'x',
  ]
  const withFragment = 'https://client.example/x#y'
  it.each(uriMembers)('refuses private and other addresses in %s', async (member) => {
    const ping = member === 'backchannel_client_notification_endpoint' && { backchannel_token_delivery_mode: 'ping' }
    // That of a request_uri is the hash of its document (OIDC Core §6.2).
    for (const place of [...places, ...(member === 'request_uris' ? [] : [withFragment])]) {
      const answer = await refused({ ...web, ...ping, [member]: member === 'request_uris' ? [place] : place })
      expect(answer.text).not.toContain(place)
      expect(answer.body['error_description']).toContain(member)
    }
  })
})

describe('RG04', () => {
  const { publicJwk, privateKey } = newAssertionKey()
  const keyed = { ...web, token_endpoint_auth_method: 'private_key_jwt' }

  it.each([
    ['a private key', { keys: [privateKey.export({ format: 'jwk' })] }],
    ['a symmetric key', { keys: [{ kty: 'oct', k: 'c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0' }] }],
    ['a public and a private key', { keys: [publicJwk, privateKey.export({ format: 'jwk' })] }],
    ['a point off its curve', { keys: [{ ...publicJwk, y: publicJwk['x'] }] }],
    ['one kid twice', { keys: [publicJwk, publicJwk] }],
    ['17 keys', { keys: Array.from({ length: 17 }, (_, n) => ({ ...publicJwk, kid: String(n) })) }],
    ['no key', { keys: [] }],
    ['no keys', {}],
    ['a list', [publicJwk]],
    ['text', JSON.stringify({ keys: [publicJwk] })],
  ])('refuses %s', async (_, jwks) => {
    await refused({ ...keyed, jwks })
  })

  it('refuses keys in two places, and none where the method needs one', async () => {
    await refused({ ...keyed, jwks: { keys: [publicJwk] }, jwks_uri: 'https://client.example/jwks' })
    await refused(keyed)
  })
})

describe('RG05', () => {
  it.each(['a\0b', 'a\nb', 'a\ue000b', '', 'x'.repeat(2049), ...unseenTexts])('refuses the name %j', async (name) => {
    for (const member of ['client_name', 'software_id', 'software_version']) await refused({ ...web, [member]: name })
    await refused({ ...web, contacts: [name] })
  })
})
