import { createHash, generateKeyPairSync, sign, verify } from 'node:crypto'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { signingAlgs } from '../../config/fields.js'
import type { keyPurposes } from '../../config/keys.js'
import {
  algorithms,
  allAlgorithms,
  findAlgorithm,
  isJwsAlg,
  keyInput,
  keyTypeOf,
  keyTypes,
  longestSignature,
  secretJwkMembers,
  understoodAlgorithms,
} from '../../core/jose/algorithms.js'
import { signatureLength, type JwsAlg } from '../../core/jose/jwk.js'
import type { KeyPurpose } from '../../core/keys/ports.js'
import { checkPublicJwk } from '../../core/jose/public-key-guard.js'
import { verifySignature } from '../../core/jose/verify-signature.js'
import { algorithms as verifiedByLibrary, keyTypeOf as libraryKeyType } from '../../libraries/verify/issuer-key.js'
import { membersOf } from '../../libraries/verify/public-jwk.js'
import { serialize, signingInput } from '../../core/tokens/compact-serializer.js'

describe('the table of algorithms', () => {
  it('has exactly the seven algorithms of this product', () => {
    expect(allAlgorithms).toEqual(['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA'])
    for (const name of ['HS256', 'none', 'ES512', 'RSA-OAEP', 'toString', '__proto__', '', 'es256', 1, null, ['ES256']])
      expect(isJwsAlg(name)).toBe(false)
  })

  const keyOf = (type: keyof typeof keyTypes) =>
    Object.fromEntries(keyTypes[type].members.map((name) => [name, `a ${name}`])) as Record<string, string>
  const keysOfAllTypes = (Object.keys(keyTypes) as (keyof typeof keyTypes)[]).map((type) => ({
    ...keyOf(type),
    kty: keyTypes[type].kty,
    ...(keyTypes[type].crv !== undefined && { crv: keyTypes[type].crv }),
  }))

  it('knows the longest signature', () => {
    expect(longestSignature).toBe(512)
  })

  it('has a row in the library that verifies, for every algorithm and type of key', () => {
    for (const name of understoodAlgorithms) {
      const alg = findAlgorithm(name)!
      const { kty, crv } = keyTypes[algorithms[alg].keyType]
      expect(verifiedByLibrary[name]?.type, name).toBe(libraryKeyType({ kty, crv }))
      expect(verifiedByLibrary[name]?.hash, name).toBe(algorithms[alg].digest)
    }
    for (const key of keysOfAllTypes) {
      expect(Object.keys(membersOf(key) ?? {})).toEqual(keyTypes[keyTypeOf(key)!].members)
      for (const secret of secretJwkMembers) expect(membersOf({ ...key, [secret]: 'a' }), secret).toBeUndefined()
    }
  })

  it('matches the algorithms and key purposes of the configuration', () => {
    expect(signingAlgs).toEqual(allAlgorithms)
    expectTypeOf<(typeof signingAlgs)[number]>().toEqualTypeOf<JwsAlg>()
    expectTypeOf<(typeof keyPurposes)[number]>().toEqualTypeOf<KeyPurpose>()
  })

  it('understands EdDSA by its newer name, which nothing is issued under (RFC 9864 §2.2)', () => {
    expect(understoodAlgorithms).toEqual([...allAlgorithms, 'Ed25519'])
    expect(findAlgorithm('Ed25519')).toBe('EdDSA')
    expect(isJwsAlg('Ed25519')).toBe(false)
    for (const alg of allAlgorithms) expect(findAlgorithm(alg)).toBe(alg)
    for (const name of ['ed25519', 'Ed448', 'HS256', 'none', '__proto__', 1, null, undefined, ['Ed25519']])
      expect(findAlgorithm(name)).toBeUndefined()
  })

  it('has the hash of at_hash of each (OIDC Core §3.1.3.6)', () => {
    expect(allAlgorithms.map((alg) => algorithms[alg].accessTokenHash)).toEqual([
      'sha256',
      'sha384',
      'sha512',
      'sha256',
      'sha256',
      'sha384',
      'sha512',
    ])
  })

  it.each(allAlgorithms)('%s: a row signs and verifies, with signatures of the length that it says', async (alg) => {
    const { keyType, digest } = algorithms[alg]
    const { type, namedCurve } = keyTypes[keyType].node
    const make = generateKeyPairSync as unknown as (
      type: string,
      options: object,
    ) => ReturnType<typeof generateKeyPairSync>
    const pair = make(type, { modulusLength: 2048, namedCurve })
    const message = Buffer.from('message')
    const signature = sign(digest, message, keyInput(alg, pair.privateKey))
    expect(verify(digest, message, keyInput(alg, pair.publicKey as never), signature)).toBe(true)
    const { jwk, publicKey } = checkPublicJwk(
      (pair.publicKey as never as { export(o: object): unknown }).export({ format: 'jwk' }),
      [alg],
    )
    expect(signature.byteLength).toBe(signatureLength(alg, jwk))
    const key = { alg, jwk, publicKey }
    expect(await verifySignature(key, message, signature)).toBe(true)
    const { byteLength } = signature
    const garbage = [Buffer.alloc(byteLength), Buffer.alloc(byteLength, 0xff), Buffer.alloc(0), Buffer.alloc(1000, 1)]
    for (const wrong of garbage) expect(await verifySignature(key, message, wrong)).toBe(false)
  })
})

describe('the compact serializer (RFC 7515 §7.1)', () => {
  it('writes the example of RFC 7515 §A.1.1 but for the order of its header', () => {
    const input = signingInput({ alg: 'ES256', kid: 'key:1', typ: 'at+jwt' }, { iss: 'joe', exp: 1300819380 })
    const [header = '', payload = ''] = input.split('.')
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({
      alg: 'ES256',
      kid: 'key:1',
      typ: 'at+jwt',
    })
    expect(Buffer.from(payload, 'base64url').toString()).toBe('{"iss":"joe","exp":1300819380}')
    expect(serialize(input, Buffer.from('signature'))).toBe(`${input}.c2lnbmF0dXJl`)
  })

  it('accepts a signature that is part of a larger buffer', () => {
    const pool = createHash('sha512').update('pool').digest()
    const part = new Uint8Array(pool.buffer, pool.byteOffset + 3, 32)
    expect(serialize('a.b', part)).toBe(`a.b.${Buffer.from(part).toString('base64url')}`)
  })

  it('keeps the headers of different keys and types apart', () => {
    const headers = [
      { alg: 'ES256', kid: 'a', typ: 'at+jwt' },
      { alg: 'ES384', kid: 'a', typ: 'at+jwt' },
      { alg: 'ES256', kid: 'b', typ: 'at+jwt' },
      { alg: 'ES256', kid: 'a', typ: 'JWT' },
      { alg: 'ES256', kid: 'at+jwt a', typ: 'JWT' },
    ] as const
    for (let round = 0; round < 2; round++)
      for (const header of headers) {
        const [encoded = ''] = signingInput(header, {}).split('.')
        expect(JSON.parse(Buffer.from(encoded, 'base64url').toString())).toEqual(header)
      }
  })
})
