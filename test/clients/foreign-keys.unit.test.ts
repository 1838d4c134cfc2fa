import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { importKnownKeys } from '../../core/jose/key-set.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { isRegisteredRedirectUri } from '../../core/oauth/requests/redirect-uri.js'
import { createRemoteKeySets } from '../../core/outbound/remote-key-sets.js'
import { noLog } from '../../core/observe/log.js'
import { newAssertionKey } from '../support/clients/client-assertion.js'

const own = newAssertionKey('ES256', 'own')
const jwkOf = (type: 'ec' | 'x25519' | 'rsa', options: object = {}) => {
  const { publicKey } = generateKeyPairSync(type as 'ec', options as { namedCurve: string })
  return publicKey.export({ format: 'jwk' })
}
const foreign: Readonly<Record<string, object>> = {
  AKP: { kty: 'AKP', alg: 'ML-DSA-44', pub: 'AAAA', kid: 'pq' },
  'P-521': jwkOf('ec', { namedCurve: 'P-521' }),
  secp256k1: jwkOf('ec', { namedCurve: 'secp256k1' }),
  X25519: jwkOf('x25519'),
  'RSA-OAEP': { ...jwkOf('rsa', { modulusLength: 2048 }), alg: 'RSA-OAEP', use: 'enc' },
  'an unknown use': { ...own.publicJwk, kid: 'other', use: 'tls' },
}
const parse = (keys: readonly object[]) =>
  parseClientMetadata(
    {
      ...{ client_id: 'a', token_endpoint_auth_method: 'private_key_jwt', grant_types: ['client_credentials'] },
      jwks: { keys },
    },
    ['read'],
  )

it.each(Object.entries(foreign))('a key of %s beside one of ours is ignored, and a warning names it', (_, key) => {
  const { client, problems, warnings } = parse([key, own.publicJwk])
  expect([problems, client?.jwks?.keys]).toEqual([[], [key, own.publicJwk]])
  expect(warnings).toMatchObject([{ path: 'jwks.keys[0]', message: expect.stringContaining('is ignored') as string }])
  expect(importKnownKeys([key, own.publicJwk]).select({ kid: 'own', alg: 'ES256' })).toHaveLength(1)
  expect(parse([key]).problems).toMatchObject([{ path: 'jwks.keys[0]' }])
})

it.each([
  ['redirect_uris', 'https://bücher.example/cb'],
  ['redirect_uris', 'https://example.com/für'],
  ['post_logout_redirect_uris', 'https://bücher.example/'],
])('%s in another case: %s is refused with the correct spelling', (member, uri) => {
  const { problems } = parseClientMetadata(
    { client_id: 'a', token_endpoint_auth_method: 'none', redirect_uris: ['https://a.example/'], [member]: [uri] },
    ['read'],
  )
  expect(problems).toEqual([{ path: `${member}[0]`, message: expect.stringContaining('xn--') as string }])
})

it('an invalid key of a supported type, or a private key of any type, is refused beside others', () => {
  const privateJwk = own.privateKey.export({ format: 'jwk' })
  for (const wrong of [
    privateJwk,
    { ...foreign['AKP'], priv: 'AAAA' },
    { kty: 'oct', k: 'AAAA' },
    { ...own.publicJwk, kid: 'b', x: `${String(own.publicJwk['x'])}=` },
  ])
    expect(parse([own.publicJwk, wrong]).problems).toMatchObject([{ path: 'jwks.keys[1]' }])
})

it('a key behind jwks_uri is found at any position in the set', async () => {
  const others = Array.from({ length: 100 }, (_, n) => ({ ...own.publicJwk, kid: `k${String(n)}` }))
  const bytes = Buffer.from(JSON.stringify({ keys: [...others, own.publicJwk] }))
  const sets = createRemoteKeySets({
    owner: 'client',
    fetch: () => Promise.resolve(bytes),
    clock: Date.now,
    log: noLog,
  })
  const found = await sets.find('a', 'https://a.example/jwks', (set) => set.select({ kid: 'own', alg: 'ES256' }))
  expect(found).toHaveLength(1)
})

it('a public client may choose the port of a loopback address, but not of a host name', () => {
  const client = (more: object) => {
    const uris = ['http://127.0.0.1:19876/cb', 'http://[::1]/cb', 'http://localhost/cb']
    return parseClientMetadata({ client_id: 'a', redirect_uris: uris, ...more }, ['openid']).client!
  }
  const open = client({ token_endpoint_auth_method: 'none' })
  for (const uri of ['http://127.0.0.1:50001/cb', 'http://127.0.0.1/cb', 'http://[::1]:9/cb', 'http://localhost/cb'])
    expect(isRegisteredRedirectUri(open, uri), uri).toBe(true)
  for (const uri of [
    'http://localhost:1/cb',
    'http://127.0.0.1:1/cb2',
    'http://127.0.0.2:1/cb',
    'https://127.0.0.1:1/cb',
  ])
    expect(isRegisteredRedirectUri(open, uri), uri).toBe(false)
  const closed = client({ client_secret: 'x'.repeat(40) })
  expect(isRegisteredRedirectUri(closed, 'http://127.0.0.1:50001/cb')).toBe(false)
})
