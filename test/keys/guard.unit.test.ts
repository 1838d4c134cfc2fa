import { createPublicKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { calculateJwkThumbprint, importJWK } from 'jose'
import { describe, expect, it } from 'vitest'
import { allAlgorithms } from '../../core/jose/algorithms.js'
import type { JwsAlg } from '../../core/jose/jwk.js'
import { BadJwk, badJwkReasons, checkPublicJwk } from '../../core/jose/public-key-guard.js'

type Jwk = Record<string, unknown>

const publicJwk = (pair: { publicKey: { export(options: { format: 'jwk' }): JsonWebKey } }): Record<string, string> =>
  pair.publicKey.export({ format: 'jwk' }) as Record<string, string>
const p256 = () => publicJwk(generateKeyPairSync('ec', { namedCurve: 'P-256' }))
const p384 = () => publicJwk(generateKeyPairSync('ec', { namedCurve: 'P-384' }))
const ed25519 = () => publicJwk(generateKeyPairSync('ed25519'))
const rsa = (modulusLength = 2048, publicExponent = 65537) =>
  publicJwk(generateKeyPairSync('rsa', { modulusLength, publicExponent }))

const refusal = (input: unknown, allowed: readonly JwsAlg[] = allAlgorithms): string => {
  try {
    checkPublicJwk(input, allowed)
  } catch (error) {
    if (!(error instanceof BadJwk)) throw error
    expect(error.message).toBe(badJwkReasons[error.reason])
    return error.reason
  }
  return 'accepted'
}

const ecKey = p256()
const rsaKey = rsa()
const edKey = ed25519()
const bytesOf = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64url')
const withLastBit = (text: string | undefined): string => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf((text ?? '').slice(-1))
  return (text ?? '').slice(0, -1) + (alphabet[last | 1] ?? '')
}

describe('valid keys', () => {
  it.each([
    ['P-256', p256, 'ES256', 8],
    ['P-384', p384, 'ES384', 8],
    ['Ed25519', ed25519, 'EdDSA', 8],
    ['RSA 2048', rsa, 'RS256', 1],
    ['RSA 4096', () => rsa(4096), 'PS256', 1],
    ['RSA of an odd length', () => rsa(2056), 'RS512', 1],
  ] as const)('%s pass, with the thumbprint of RFC 7638', async (_, make, alg, count) => {
    for (let made = 0; made < count; made++) {
      const jwk = make()
      const { jwk: kept, publicKey, thumbprint } = checkPublicJwk(jwk, [alg])
      expect(kept).toEqual(jwk)
      expect(thumbprint).toBe(await calculateJwkThumbprint(jwk))
      expect(publicKey.type).toBe('public')
    }
  })

  it('keeps the required members alone', () => {
    const extra = { ...ecKey, kid: 'device', alg: 'ES256', use: 'sig', key_ops: ['verify'], ext: true, x5u: 'http://a' }
    const { jwk, thumbprint } = checkPublicJwk(extra, ['ES256'])
    expect(jwk).toEqual(ecKey)
    expect(thumbprint).toBe(checkPublicJwk(ecKey, ['ES256']).thumbprint)
    expect(Object.isFrozen(jwk)).toBe(true)
  })

  it('the example of RFC 7638 §3.1 has the thumbprint that is printed there', () => {
    const n =
      '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw'
    const key = { kty: 'RSA', n, e: 'AQAB', alg: 'RS256', kid: '2011-04-29' }
    expect(checkPublicJwk(key, ['RS256']).thumbprint).toBe('NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
  })
})

describe('spellings (one key, one thumbprint)', () => {
  const { x = '', y = '' } = ecKey
  const standard = (text: string) => bytesOf(text).toString('base64')
  const spellings: readonly (readonly [string, Jwk])[] = [
    ['trailing bits', { ...ecKey, x: withLastBit(x) }],
    ['padding', { ...ecKey, x: `${x}=` }],
    ['white space', { ...ecKey, x: `${x.slice(0, 20)} ${x.slice(20)}` }],
    ['line feed', { ...ecKey, y: `${y}\n` }],
    ['the other alphabet', { ...ecKey, x: `${standard(x).replace(/=/, '').slice(0, 42)}+` }],
    ['standard base64', { ...ecKey, x: standard(x), y: standard(y) }],
    ['33 bytes', { ...ecKey, x: Buffer.concat([Buffer.alloc(1), bytesOf(x)]).toString('base64url') }],
    ['31 bytes', { ...ecKey, x: bytesOf(x).subarray(1).toString('base64url') }],
    [
      'RSA: leading zero',
      { ...rsaKey, n: Buffer.concat([Buffer.alloc(1), bytesOf(rsaKey['n'])]).toString('base64url') },
    ],
    ['RSA: padding', { ...rsaKey, n: `${rsaKey['n']}==` }],
    ['RSA: long e', { ...rsaKey, e: 'AAEAAQ' }],
    ['Ed25519: trailing bits', { ...edKey, x: withLastBit(edKey['x']) }],
    ['Ed25519: padding', { ...edKey, x: `${edKey['x']}=` }],
  ]
  it.each(spellings)('%s: refused', (_, jwk) => {
    expect(refusal(jwk)).toMatch(/spelling|exponent|modulus/)
  })

  it('Node and jose import them, so the guard is needed', async () => {
    const imported = spellings.slice(0, 4).map(([, jwk]) => createPublicKey({ key: jwk, format: 'jwk' }))
    for (const key of imported) expect(key.export({ format: 'jwk' })).toEqual(ecKey)
    await expect(importJWK(spellings[0]?.[1] as never, 'ES256')).resolves.toBeDefined()
  })
})

describe('members', () => {
  it.each(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'])('a key with %s is refused', (name) => {
    for (const jwk of [ecKey, rsaKey, edKey])
      for (const value of ['AAAA', '', null, 0, []]) expect(refusal({ ...jwk, [name]: value })).toBe('secret')
  })

  it('private keys are refused', () => {
    for (const pair of [
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ])
      expect(refusal(pair.privateKey.export({ format: 'jwk' }))).toBe('secret')
    expect(refusal({ kty: 'oct', k: 'c2VjcmV0' })).toBe('secret')
  })

  it.each([
    ['alg HS256', { alg: 'HS256' }],
    ['alg none', { alg: 'none' }],
    ['alg of another type', { alg: 'RS256' }],
    ['alg of another curve', { alg: 'ES384' }],
    ['alg as a list', { alg: ['ES256'] }],
    ['alg null', { alg: null }],
    ['alg of the prototype', { alg: 'toString' }],
    ['use enc', { use: 'enc' }],
    ['use as a list', { use: ['sig'] }],
    ['key_ops sign', { key_ops: ['sign'] }],
    ['key_ops verify and sign', { key_ops: ['verify', 'sign'] }],
    ['key_ops twice', { key_ops: ['verify', 'verify'] }],
    ['key_ops empty', { key_ops: [] }],
    ['key_ops a string', { key_ops: 'verify' }],
  ])('%s contradicts', (_, more) => {
    expect(refusal({ ...ecKey, ...more })).toBe('use')
  })

  it('an algorithm that the caller does not allow is refused, by alg and by type', () => {
    expect(refusal({ ...rsaKey, alg: 'RS512' }, ['PS256'])).toBe('use')
    expect(refusal({ ...rsaKey, alg: 'PS256' }, ['PS256'])).toBe('accepted')
    expect(refusal(rsaKey, ['ES256', 'EdDSA'])).toBe('type')
    expect(refusal(ecKey, [])).toBe('type')
  })

  it.each([
    ['oct', { kty: 'oct' }],
    ['no kty', { crv: 'P-256', x: ecKey['x'], y: ecKey['y'] }],
    ['kty as a list', { ...ecKey, kty: ['EC'] }],
    ['crv as a list', { ...ecKey, crv: ['P-256'] }],
    ['P-521', publicJwk(generateKeyPairSync('ec', { namedCurve: 'P-521' }))],
    ['secp256k1', publicJwk(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }))],
    ['X25519', publicJwk(generateKeyPairSync('x25519'))],
    ['Ed448', publicJwk(generateKeyPairSync('ed448'))],
    ['EC named RSA', { ...ecKey, kty: 'RSA' }],
    ['RSA named EC', { ...rsaKey, kty: 'EC', crv: 'P-256' }],
    ['OKP on P-256', { ...edKey, crv: 'P-256' }],
    ['EC with n and e', { ...ecKey, n: rsaKey['n'], e: 'AQAB' }],
    ['RSA with crv', { ...rsaKey, crv: 'P-256' }],
    ['Ed25519 with y', { ...edKey, y: ecKey['y'] }],
    ['EC without y', { kty: 'EC', crv: 'P-256', x: ecKey['x'] }],
    ['RSA without e', { kty: 'RSA', n: rsaKey['n'] }],
  ])('%s: not a type of ours', (_, jwk) => {
    expect(refusal(jwk)).toBe('type')
  })

  it.each([null, undefined, true, 1, NaN, 'EC', [], [ecKey], Symbol('key'), () => ecKey])('%s is no key', (input) => {
    expect(refusal(input)).toBe('shape')
  })

  it('members of another JSON type are refused before anything is imported', () => {
    for (const wrong of [null, 1, true, {}, [], [ecKey['x']], { toString: () => ecKey['x'] }])
      expect(refusal({ ...ecKey, x: wrong })).toBe('shape')
    for (const kid of [1, null, [], {}, 'x'.repeat(257)]) expect(refusal({ ...ecKey, kid })).toBe('shape')
  })

  it('members of a prototype are ignored', () => {
    expect(refusal(Object.create(ecKey))).toBe('type')
    expect(
      refusal(
        JSON.parse(
          JSON.stringify({ kty: 'EC', crv: 'P-256', x: ecKey['x'] }).replace(
            '{',
            `{"__proto__":{"y":"${ecKey['y']}"},`,
          ),
        ),
      ),
    ).toBe('type')
  })

  it('sizes are limited', () => {
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`m${index}`, index]))
    expect(refusal({ ...ecKey, ...many })).toBe('size')
    expect(refusal({ ...ecKey, x: 'A'.repeat(1_000_000) })).toBe('spelling')
    expect(refusal({ ...rsaKey, n: 'A'.repeat(1_000_000) })).toBe('modulus')
    expect(refusal({ ...rsaKey, e: 'A'.repeat(1_000_000) })).toMatch(/spelling|exponent/)
  })
})

describe('RSA', () => {
  it('e other than 65537 is refused: with e = 1 anybody can sign', () => {
    const forged = { ...rsaKey, e: 'AQ' }
    expect(refusal(forged)).toBe('exponent')
    // PKCS#1 v1.5 with e = 1: the signature is the padded digest itself.
    expect(createPublicKey({ key: forged, format: 'jwk' }).asymmetricKeyDetails?.publicExponent).toBe(1n)
    const large = Buffer.alloc(256, 0xff).toString('base64url')
    for (const e of ['Aw', 'AA', '', 'AAAB', 'AQAC', 'AQABAA', large])
      expect(refusal({ ...rsaKey, e }), e).toBe('exponent')
    expect(refusal(rsa(2048, 3))).toBe('exponent')
  })

  it('modulus below 2048 or above 4096 bits is refused', () => {
    expect(refusal(rsa(1024))).toBe('modulus')
    expect(refusal(rsa(2040))).toBe('modulus')
    const ofBits = (bits: number) => ((1n << BigInt(bits)) - 1n).toString(16)
    const jwk = (bits: number) => {
      const hex = ofBits(bits)
      return {
        ...rsaKey,
        n: Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url'),
      }
    }
    expect([2047, 2048, 4096, 4097, 8192, 16384].map((bits) => refusal(jwk(bits)))).toEqual([
      'modulus',
      'accepted',
      'accepted',
      'modulus',
      'modulus',
      'modulus',
    ])
  })

  it('an even or empty modulus is refused', () => {
    const even = bytesOf(rsaKey['n'])
    even[even.length - 1] = (even.at(-1) ?? 0) & 0xfe
    expect(refusal({ ...rsaKey, n: even.toString('base64url') })).toBe('value')
    expect(refusal({ ...rsaKey, n: '' })).toMatch(/spelling|modulus/)
  })
})
