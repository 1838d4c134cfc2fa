import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { decodeJws } from '../support/clients/attestation.js'
import { expectNamed } from '../support/server/attestation-server.js'
import { device, server, setUpAttestation } from '../support/server/attestation-set-up.js'

setUpAttestation()

type Json = Record<string, unknown>

/** Refused before any second factor is asked. */
const expectRefused = async (public_jwk: Json, name: 'BadJwk' | 'InvalidRequest' = 'BadJwk'): Promise<void> => {
  const asked = server.double.asked.length
  const answer = await device.enrol({ public_jwk })
  expectNamed(answer, name)
  expect(server.double.asked).toHaveLength(asked)
  for (const value of Object.values(public_jwk))
    if (typeof value === 'string' && value.length > 20) expect(answer.text).not.toContain(value)
}

const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64url')
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

describe('row 7: private and symmetric members', () => {
  it.each(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv', 'seed'])('%s', async (name) => {
    for (const value of ['AAAA', '', null, [], 'A'.repeat(43)]) await expectRefused({ ...device.jwk, [name]: value })
  })

  it('a whole private key: the client learns that it is compromised, and no log contains it', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = privateKey.export({ format: 'jwk' })
    const answer = await device.enrol({ public_jwk: jwk })
    expectNamed(answer, 'BadJwk')
    expect(answer.body['error_description']).toBe(
      'The request contained the private key, so it must be treated as compromised. Generate a new key.',
    )
    expect(answer.text + JSON.stringify(await server.host.server.audit())).not.toContain(jwk.d)
  })
})

describe('row 8: other keys and no keys', () => {
  it('other types and curves', async () => {
    const exported = [
      generateKeyPairSync('rsa', { modulusLength: 2048 }),
      generateKeyPairSync('ec', { namedCurve: 'P-384' }),
      generateKeyPairSync('ec', { namedCurve: 'P-521' }),
      generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('x25519'),
    ].map(({ publicKey }) => publicKey.export({ format: 'jwk' }) as Json)
    for (const jwk of exported) {
      await expectRefused(jwk)
      await expectRefused({ ...jwk, crv: 'P-256' })
      await expectRefused({ ...device.jwk, ...jwk, kty: 'EC' })
    }
    await expectRefused({ kty: 'oct', k: 'AAAA' })
    await expectRefused({ kty: 'RSA', n: exported[0]?.['n'], e: 'AQ' })
  })

  it.each(['kty', 'crv', 'x', 'y'])('%s is missing or of another type', async (name) => {
    for (const value of [undefined, null, '', 1, true, [], {}, [device.jwk.x], 'P-256 ', 'ec', 'p-256', 'secp256r1'])
      await expectRefused({ ...device.jwk, [name]: value })
  })

  it('points that are not on the curve', async () => {
    const { x, y } = device.jwk
    const prime = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n
    const write = (value: bigint) => Buffer.from(value.toString(16).padStart(64, '0'), 'hex').toString('base64url')
    const zero = write(0n)
    for (const point of [
      { x: zero, y: zero },
      { x: zero, y },
      { x, y: zero },
      { x: y, y: x },
      { x: write(prime), y },
      { x: write(prime + 1n), y },
      { x, y: write(prime) },
      { x: write(2n ** 256n - 1n), y: write(2n ** 256n - 1n) },
    ])
      await expectRefused({ kty: 'EC', crv: 'P-256', ...point })
  })

  it.each([[null], [[]], ['x'], [1], [true], [undefined]])('public_jwk is %j', async (public_jwk) => {
    expectNamed(await device.enrol({ public_jwk }), 'InvalidRequest')
  })

  it('an empty key, and one with very many members', async () => {
    await expectRefused({})
    await expectRefused({
      ...device.jwk,
      ...Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`m${String(n)}`, 1])),
    })
  })
})

describe('row 9: other spellings of the same key', () => {
  it('all sixteen spellings of trailing bits but the canonical one', async () => {
    const spellings = (text: string) => {
      const last = alphabet.indexOf(text.slice(-1))
      return Array.from({ length: 4 }, (_, bits) => text.slice(0, -1) + alphabet.charAt((last & ~3) | bits))
    }
    const { jwk } = device
    const keys = spellings(jwk.x).flatMap((x) => spellings(jwk.y).map((y) => ({ ...jwk, x, y })))
    const others = keys.filter(({ x, y }) => x !== jwk.x || y !== jwk.y)
    expect(others).toHaveLength(15)
    for (const other of others) {
      expect(bytesOf(other.x)).toEqual(bytesOf(jwk.x))
      await expectRefused(other)
    }
  })

  it('padding, blanks, the other alphabet, leading zeros, lost zeros', async () => {
    const { x } = device.jwk
    const spellings = [
      `${x}=`,
      ` ${x}`,
      `${x}\n`,
      `${x.slice(0, 20)} ${x.slice(20)}`,
      `${x}AA`,
      Buffer.concat([Buffer.alloc(1), bytesOf(x)]).toString('base64url'),
      bytesOf(x).subarray(1).toString('base64url'),
      bytesOf(x).toString('hex'),
    ]
    for (const spelling of spellings) await expectRefused({ ...device.jwk, x: spelling })
    // A key whose coordinate is spelt differently in the two alphabets.
    for (;;) {
      const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }) as Json
      const other = String(jwk['x']).replaceAll('-', '+').replaceAll('_', '/')
      if (other === jwk['x']) continue
      expect(createPublicKey({ key: { ...jwk, x: other } as never, format: 'jwk' })).toBeDefined()
      await expectRefused({ ...jwk, x: other })
      expect((await device.enrol({ public_jwk: jwk })).status).toBe(200)
      break
    }
  })

  it('one key has one thumbprint, whatever other members it has', async () => {
    const jwk = { alg: 'ES256', use: 'sig', key_ops: ['verify'], ext: true, kid: 'mine', ...device.jwk }
    const { body } = await device.enrol({ public_jwk: jwk })
    const attestation = String((await device.complete(body['challenge'])).body['attestation'])
    expect(decodeJws(attestation).payload['cnf']).toEqual({ jkt: device.jkt })
  })

  it('a thousand fresh keys pass', async () => {
    const { checkPublicJwk } = await import('../../core/jose/public-key-guard.js')
    for (let count = 0; count < 1000; count++) {
      const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
      const { crv, kty, x, y } = jwk
      const jkt = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
      expect(checkPublicJwk(jwk, ['ES256']).thumbprint).toBe(jkt)
    }
  })
})

describe('row 10: members that contradict', () => {
  it.each([
    [{ alg: 'HS256' }],
    [{ alg: 'RS256' }],
    [{ alg: 'ES384' }],
    [{ alg: 'ECDH-ES' }],
    [{ alg: null }],
    [{ alg: ['ES256'] }],
    [{ use: 'enc' }],
    [{ use: 'SIG' }],
    [{ use: null }],
    [{ key_ops: ['sign'] }],
    [{ key_ops: ['sign', 'verify'] }],
    [{ key_ops: [] }],
    [{ key_ops: 'verify' }],
    [{ kid: 1 }],
  ])('%j', async (members) => expectRefused({ ...device.jwk, ...members }))
})

it('row 6: a thumbprint from the caller is ignored', async () => {
  const other = (await server.device()).jkt
  const injected = { requested_cnf_jkt: other, cnf: { jkt: other }, jkt: other, jti: 'x', iss: 'x', aud: 'x', exp: 1 }
  const { body, status } = await device.enrol({
    ...injected,
    attributes: { cnf: { jkt: other }, sub: 'mallory', exp: 1 },
  })
  expect(status).toBe(200)
  const { payload } = decodeJws(String((await device.complete(body['challenge'])).body['attestation']))
  expect(payload).toMatchObject({
    iss: server.issuer,
    sub: 'alice',
    cnf: { jkt: device.jkt },
    att: { cnf: { jkt: other }, sub: 'mallory', exp: 1, status: 'active' },
  })
  expect(Object.keys(payload)).not.toContain('aud')
  expect(payload['exp']).toBe(Number(payload['iat']) + 86_400)
})
