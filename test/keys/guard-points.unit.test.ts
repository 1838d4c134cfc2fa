import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { allAlgorithms } from '../../core/jose/algorithms.js'
import { BadJwk, checkPublicJwk } from '../../core/jose/public-key-guard.js'

const refusal = (input: unknown): string => {
  try {
    checkPublicJwk(input, allAlgorithms)
  } catch (error) {
    if (!(error instanceof BadJwk)) throw error
    return error.reason
  }
  return 'accepted'
}
const bytesOf = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64url')
const ecKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
const p384 = () => generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' })

describe('points', () => {
  const p = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn
  const b = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn
  const coordinate = (value: bigint, bytes = 32) =>
    Buffer.from(value.toString(16).padStart(bytes * 2, '0'), 'hex').toString('base64url')
  const power = (base: bigint, exponent: bigint): bigint => {
    let [result, square] = [1n, base % p]
    for (let rest = exponent; rest > 0n; rest >>= 1n) {
      if (rest & 1n) result = (result * square) % p
      square = (square * square) % p
    }
    return result
  }

  it('off the curve, and the zero point', () => {
    const y = bytesOf(ecKey.y)
    y[31] = (y[31] ?? 0) ^ 1
    expect(refusal({ ...ecKey, y: y.toString('base64url') })).toBe('value')
    expect(refusal({ ...ecKey, x: ecKey.y, y: ecKey.x })).toBe('value')
    expect(refusal({ ...ecKey, x: coordinate(0n), y: coordinate(0n) })).toBe('value')
    expect(refusal({ kty: 'EC', crv: 'P-384', x: coordinate(0n, 48), y: coordinate(0n, 48) })).toBe('value')
    expect(refusal({ ...p384(), x: coordinate(1n, 48) })).toBe('value')
  })

  it('x and y of p or more, for a point that is on the curve', () => {
    const squared = (x: bigint) => (x ** 3n - 3n * x + b + 3n * p) % p
    const root = (square: bigint) => power(square, (p + 1n) / 4n)
    let x = 1n
    while (root(squared(x)) ** 2n % p !== squared(x)) x++
    const y = root(squared(x))
    const jwk = { kty: 'EC', crv: 'P-256', x: coordinate(x), y: coordinate(y) }
    expect(refusal(jwk)).toBe('accepted')
    expect(refusal({ ...jwk, x: coordinate(x + p) })).toMatch(/value|spelling/)
    expect(refusal({ ...jwk, x: coordinate(p), y: coordinate(p) })).toMatch(/value|spelling/)
  })
})

describe('Ed25519 points', () => {
  const littleEndian = (value: bigint) =>
    Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse().toString('base64url')
  const p = (1n << 255n) - 19n
  const order8 = [
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ].map((hex) => BigInt(`0x${Buffer.from(hex, 'hex').reverse().toString('hex')}`))
  const sign = 1n << 255n
  const okp = (value: bigint) => ({ kty: 'OKP', crv: 'Ed25519', x: littleEndian(value) })

  it('all points of small order are refused, with either sign', () => {
    for (const y of [0n, 1n, p - 1n, ...order8])
      for (const value of [y, y | sign]) expect(refusal(okp(value)), value.toString(16)).toBe('value')
  })

  it('y of p or more is refused', () => {
    for (let y = p; y < 1n << 255n; y++)
      for (const value of [y, y | sign]) expect(refusal(okp(value)), value.toString(16)).toBe('value')
  })

  it('what is not on the curve is refused', () => {
    let refused = 0
    for (let y = 2n; y < 202n; y++) refused += refusal(okp(y)) === 'value' ? 1 : 0
    // Half of all numbers are the y of a point.
    expect(refused).toBeGreaterThan(60)
    expect(refused).toBeLessThan(140)
  })

  it('OpenSSL accepts points of small order, for which one signature fits many messages', () => {
    const neutral = createPublicKey({ key: okp(1n), format: 'jwk' })
    const signature = Buffer.concat([bytesOf(okp(1n).x), Buffer.alloc(32)])
    const taken = ['pay 1', 'pay 1000'].map((message) => verify(null, Buffer.from(message), neutral, signature))
    // Node 24 and later refuse it; our guard does not depend on that.
    expect(taken[0]).toBe(taken[1])
    expect(refusal(okp(1n))).toBe('value')
  })
})
