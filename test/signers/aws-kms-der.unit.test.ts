import { generateKeyPairSync, sign, verify } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { joseFromDer } from '../../signers/aws-kms/ecdsa-signature.js'

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')

describe('an ECDSA signature from DER to r||s', () => {
  it.each([
    ['prime256v1', 32],
    ['secp384r1', 48],
  ])('%s: 500 signatures by OpenSSL, each still good', (namedCurve, size) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    for (let count = 0; count < 500; count++) {
      const message = Buffer.from(String(count))
      const jose = joseFromDer(sign('sha256', message, privateKey), size) ?? new Uint8Array()
      expect(jose).toHaveLength(2 * size)
      expect(verify('sha256', message, { key: publicKey, dsaEncoding: 'ieee-p1363' }, jose)).toBe(true)
    }
  })

  it('fills short numbers up', () => {
    expect(Buffer.from(joseFromDer(hex('30 06 02 01 01 02 01 7f'), 4) ?? []).toString('hex')).toBe('000000010000007f')
    expect(Buffer.from(joseFromDer(hex('30 07 02 02 00 80 02 01 02'), 1) ?? []).toString('hex')).toBe('8002')
  })

  it.each([
    ['nothing', ''],
    ['no sequence', '31 06 02 01 01 02 01 01'],
    ['a length that is too long', '30 07 02 01 01 02 01 01'],
    ['a length that is too short', '30 05 02 01 01 02 01 01'],
    ['bytes behind it', '30 06 02 01 01 02 01 01 00'],
    ['bytes behind s inside of it', '30 07 02 01 01 02 01 01 00'],
    ['a long form of the length', '30 81 06 02 01 01 02 01 01'],
    ['an indefinite length', '30 80 02 01 01 02 01 01 00 00'],
    ['one number', '30 03 02 01 01'],
    ['three numbers', '30 09 02 01 01 02 01 01 02 01 01'],
    ['an empty number', '30 05 02 00 02 01 01'],
    ['zero', '30 06 02 01 00 02 01 01'],
    ['a negative number', '30 06 02 01 81 02 01 01'],
    ['a zero byte without need', '30 07 02 02 00 01 02 01 01'],
    ['a number that does not fit', '30 0a 02 05 01 01 01 01 01 02 01 01'],
    ['no integer', '30 06 03 01 01 02 01 01'],
  ])('%s is refused', (_, bytes) => {
    expect(joseFromDer(hex(bytes), 4)).toBeUndefined()
  })

  it('any bytes: refused, or the one DER of what comes out', () => {
    const integer = fc.uint8Array({ maxLength: 6 }).map((bytes) => [2, bytes.length, ...bytes])
    const likely = fc.tuple(integer, integer).map(([r, s]) => Uint8Array.from([0x30, r.length + s.length, ...r, ...s]))
    const inDer = (value: Uint8Array): number[] => {
      const bytes = [...value.subarray(value.findIndex((byte) => byte !== 0))]
      const signed = (bytes[0] ?? 0) >= 0x80 ? [0, ...bytes] : bytes
      return [2, signed.length, ...signed]
    }
    fc.assert(
      fc.property(fc.oneof(likely, fc.uint8Array({ maxLength: 16 })), (der) => {
        const jose = joseFromDer(der, 4)
        if (jose === undefined) return
        const content = [...inDer(jose.subarray(0, 4)), ...inDer(jose.subarray(4))]
        expect([...der]).toEqual([0x30, content.length, ...content])
      }),
      { numRuns: 5000 },
    )
  })
})
