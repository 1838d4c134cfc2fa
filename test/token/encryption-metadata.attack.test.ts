import { generateKeyPairSync } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { findEncryptionKeys, importKeySet, importKnownKeys } from '../../core/jose/key-set.js'
import { allAlgorithms } from '../../core/jose/algorithms.js'
import { BadJwk, checkEncryptionJwk, checkPublicJwk } from '../../core/jose/public-key-guard.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { webClient } from '../support/server/server.js'

let rsa: JWK
let ec: JWK
let ed: JWK
let weak: JWK
beforeAll(async () => {
  const jwkOf = async (alg: string) => exportJWK((await generateKeyPair(alg, { extractable: true })).publicKey)
  weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  ;[rsa, ec, ed] = [await jwkOf('RSA-OAEP-256'), await jwkOf('ES256'), await jwkOf('EdDSA')]
})

const problemsOf = (metadata: object) => parseClientMetadata({ ...webClient, ...metadata }, ['openid']).problems

describe('what a client may register to be encrypted', () => {
  it.each([
    'RSA1_5',
    'rsa-oaep-256',
    'RSA-OAEP',
    'dir',
    'A128KW',
    'A256GCMKW',
    'PBES2-HS256+A128KW',
    'ECDH-ES+A128KW',
    'none',
    '',
  ])('EN01 not by %s', (alg) => {
    for (const answer of ['id_token', 'userinfo', 'introspection', 'authorization'])
      expect(problemsOf({ [`${answer}_encrypted_response_alg`]: alg })).toContainEqual({
        path: `${answer}_encrypted_response_alg`,
        message: expect.stringMatching(/symmetric methods, RSA1_5 and dir are refused/) as string,
      })
  })

  it.each(['A128GCM', 'A256CBC-HS512', 'a256gcm', 'none', 256])('EN02 not with %s', (enc) => {
    const jwks = { keys: [{ ...rsa, use: 'enc' }] }
    const members = { id_token_encrypted_response_alg: 'RSA-OAEP-256', id_token_encrypted_response_enc: enc }
    expect(problemsOf({ jwks, ...members })).toMatchObject([{ path: 'id_token_encrypted_response_enc' }])
  })

  it('EN02 not with enc alone, not without a key that says use enc, not userinfo that is not signed', () => {
    const wanted = { id_token_encrypted_response_alg: 'ECDH-ES' }
    const path = 'id_token_encrypted_response_alg'
    expect(problemsOf({ id_token_encrypted_response_enc: 'A256GCM' })).toMatchObject([
      { path: 'id_token_encrypted_response_enc', message: expect.stringMatching(/needs id_token_encrypted/) as string },
    ])
    for (const keys of [
      [ec],
      [{ ...ec, use: 'sig' }],
      [{ ...rsa, use: 'enc' }],
      [{ ...ec, use: 'enc', alg: 'ECDH-ES+A256KW' }],
    ])
      expect(problemsOf({ ...wanted, jwks: { keys } })).toMatchObject([{ path }])
    expect(problemsOf(wanted)).toMatchObject([{ path }])
    expect(problemsOf({ ...wanted, jwks: { keys: [{ ...ec, use: 'enc' }] } })).toEqual([])
    expect(problemsOf({ ...wanted, jwks_uri: 'https://client.example/jwks.json' })).toEqual([])
    const userinfo = { userinfo_encrypted_response_alg: 'ECDH-ES', jwks: { keys: [{ ...ec, use: 'enc' }] } }
    expect(problemsOf(userinfo)).toMatchObject([{ path: 'userinfo_encrypted_response_alg' }])
    expect(problemsOf({ ...userinfo, userinfo_signed_response_alg: 'ES256' })).toEqual([])
  })

  it('EN03 a key for encryption passes the same guard', () => {
    for (const key of [
      { ...ed, use: 'enc' },
      { ...rsa, use: 'enc', alg: 'RS256' },
      { ...rsa, use: 'enc', alg: 'RSA1_5' },
      { ...ec, use: 'enc', alg: 'RSA-OAEP-256' },
      { ...ec, use: 'enc', key_ops: ['verify'] },
      { ...ec, use: 'enc', d: 'AAAA' },
      { ...ec, use: 'enc', x: `${ec.x}=` },
      { ...rsa, use: 'enc', e: 'AQ' },
      { ...ec, use: 'enc', kid: 7 },
      { ...weak, use: 'enc' },
      { ...ec, use: 'enc', y: ec.x },
      { kty: 'oct', k: 'AAAA', use: 'enc' },
    ]) {
      expect(problemsOf({ jwks: { keys: [key] } })).toMatchObject([{ path: 'jwks.keys[0]' }])
      expect(importKnownKeys([key]).selectForEncryption('ECDH-ES')).toEqual([])
    }
  })

  it('EN03 a key verifies, or is encrypted to, and never both', () => {
    const forEncryption = importKeySet([{ ...ec, use: 'enc', kid: 'one' }])
    expect(forEncryption.select({ kid: undefined, alg: 'ES256' })).toEqual([])
    expect(forEncryption.selectForEncryption('ECDH-ES')).toHaveLength(1)
    const others = importKeySet([ec, { ...rsa, use: 'sig' }])
    expect(others.select({ kid: undefined, alg: 'ES256' })).toHaveLength(1)
    expect([...others.selectForEncryption('ECDH-ES'), ...others.selectForEncryption('RSA-OAEP-256')]).toEqual([])
    expect(findEncryptionKeys([ec], 'ECDH-ES')).toEqual([])
    for (const key of [ec, { ...ec, use: 'sig' }]) expect(() => checkEncryptionJwk(key)).toThrow(BadJwk)
    expect(() => checkPublicJwk({ ...ec, use: 'enc' }, allAlgorithms)).toThrow(BadJwk)
  })

  it('of several keys the first that fits is taken, whatever stands before it', () => {
    const keys = [
      { ...ec, kid: 'signs' },
      { ...rsa, use: 'enc', kid: 'rsa' },
      { ...ec, use: 'enc', alg: 'ECDH-ES+A256KW', kid: 'wraps' },
      { ...ec, use: 'enc', kid: 'first' },
      { ...ec, use: 'enc', alg: 'ECDH-ES', kid: 'second' },
    ]
    const kidsFor = (alg: 'ECDH-ES' | 'ECDH-ES+A256KW' | 'RSA-OAEP-256') =>
      findEncryptionKeys(keys, alg).map(({ kid }) => kid)
    expect(kidsFor('ECDH-ES')).toEqual(['first', 'second'])
    expect(kidsFor('ECDH-ES+A256KW')).toEqual(['wraps', 'first'])
    expect(kidsFor('RSA-OAEP-256')).toEqual(['rsa'])
  })
})
