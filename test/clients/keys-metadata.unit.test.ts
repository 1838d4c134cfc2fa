import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { newAssertionKey } from '../support/clients/client-assertion.js'

const { publicJwk: key, privateKey } = newAssertionKey('ES256', 'one')
const rsa = (modulusLength: number, publicExponent = 65537) =>
  generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey.export({ format: 'jwk' })

const problems = (overrides: Record<string, unknown>) =>
  parseClientMetadata(
    {
      client_id: 'c',
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [key] },
      ...overrides,
    },
    [],
  ).problems

describe('keys in client metadata', () => {
  it('accepts public keys, with or without alg, and an https jwks_uri', () => {
    expect(problems({})).toEqual([])
    expect(problems({ jwks: { keys: [{ ...key, alg: 'ES256', use: 'sig' }, rsa(2048)] } })).toEqual([])
    for (const jwks_uri of [
      'https://client.example/jwks',
      'http://127.0.0.1:1/jwks',
      'http://[::1]/',
      'http://localhost/',
    ])
      expect(problems({ jwks: undefined, jwks_uri })).toEqual([])
    for (const alg of ['ES256', 'RS256', 'PS256', 'EdDSA'])
      expect(problems({ token_endpoint_auth_signing_alg: alg })).toEqual([])
  })

  it.each([
    ['a private key', privateKey.export({ format: 'jwk' })],
    ['a symmetric key', { kty: 'oct', k: 'c2VjcmV0' }],
    ['a symmetric member beside a public key', { ...key, kid: 'two', k: 'c2VjcmV0' }],
    ['RSA with the exponent 3', rsa(2048, 3)],
    ['RSA with 1024 bits', rsa(1024)],
    ['a key for encryption that signs', { ...key, kid: 'two', use: 'enc', alg: 'ES256' }],
    ['an algorithm of another type', { ...key, kid: 'two', alg: 'RS256' }],
    ['HS256', { ...key, kid: 'two', alg: 'HS256' }],
    ['a point that is not on the curve', { ...key, kid: 'two', y: key['x'] }],
    ['padding', { ...key, kid: 'two', x: `${String(key['x'])}=` }],
    ['text', 'one'],
    ['null', null],
    ['a list', []],
  ])('RG04 refuses %s and does not repeat it', (_, bad) => {
    const found = problems({ jwks: { keys: [key, bad] } })
    expect(found.map(({ path }) => path)).toEqual(['jwks.keys[1]'])
    expect(JSON.stringify(found)).not.toContain('c2VjcmV0')
  })

  it.each<[string, Record<string, unknown>, string]>([
    ['jwks and jwks_uri', { jwks_uri: 'https://client.example/jwks' }, 'jwks_uri'],
    ['neither', { jwks: undefined }, 'jwks'],
    ['an empty set', { jwks: { keys: [] } }, 'jwks.keys'],
    [
      '17 keys',
      { jwks: { keys: Array.from({ length: 17 }, (_, index) => ({ ...key, kid: `k${index}` })) } },
      'jwks.keys',
    ],
    ['a kid twice', { jwks: { keys: [key, key] } }, 'jwks.keys'],
    ['another member', { jwks: { keys: [key], other: 1 } }, 'jwks.other'],
    ['a secret', { client_secret: 'a secret that nobody asks for' }, 'client_secret'],
    ['HS256', { token_endpoint_auth_signing_alg: 'HS256' }, 'token_endpoint_auth_signing_alg'],
    ['none', { token_endpoint_auth_signing_alg: 'none' }, 'token_endpoint_auth_signing_alg'],
    ['http', { jwks: undefined, jwks_uri: 'http://client.example/jwks' }, 'jwks_uri'],
    ['a file', { jwks: undefined, jwks_uri: 'file:///etc/passwd' }, 'jwks_uri'],
    ['credentials', { jwks: undefined, jwks_uri: 'https://a:b@client.example/jwks' }, 'jwks_uri'],
    ['no URL', { jwks: undefined, jwks_uri: 'client.example' }, 'jwks_uri'],
    ['a long URL', { jwks: undefined, jwks_uri: `https://client.example/${'x'.repeat(2048)}` }, 'jwks_uri'],
  ])('refuses %s', (_, overrides, path) => {
    expect(problems(overrides).map((problem) => problem.path)).toEqual([path])
  })
})
