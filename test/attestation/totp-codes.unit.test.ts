import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Unavailable } from '../../core/api/index.js'
import plugin from '../../plugins/attestation/totp/index.js'
import { oneTimePassword, type TotpForm } from '../../core/totp/one-time-password.js'
import { findStoredStep, encryptSecret } from '../../core/totp/stored-secret.js'
import { createFactor } from '../support/clients/second-factor.js'

describe('RFC 6238 appendix B', () => {
  const ascii = '1234567890'.repeat(7)
  const seeds = { SHA1: ascii.slice(0, 20), SHA256: ascii.slice(0, 32), SHA512: ascii.slice(0, 64) }
  it.each([
    [59, '94287082', '46119246', '90693936'],
    [1111111109, '07081804', '68084774', '25091201'],
    [1111111111, '14050471', '67062674', '99943326'],
    [1234567890, '89005924', '91819424', '93441116'],
    [2000000000, '69279037', '90698825', '38618901'],
    [20000000000, '65353130', '77737706', '47863826'],
  ])('at %d', (time, sha1, sha256, sha512) => {
    const at = (algorithm: TotpForm['algorithm']) =>
      oneTimePassword(Buffer.from(seeds[algorithm]), Math.floor(time / 30), { algorithm, digits: 8 })
    expect([at('SHA1'), at('SHA256'), at('SHA512')]).toEqual([sha1, sha256, sha512])
  })
})

describe('a principal without a secret', () => {
  it('accepts no password, not even that of the decoy used for equal timing', () => {
    const [key, secret] = [randomBytes(32), randomBytes(20)]
    const form: TotpForm = { algorithm: 'SHA1', digits: 6 }
    const stored = encryptSecret('totp:nobody', secret, form, key)
    const check = { key, component: 'totp', window: 1, decoy: { id: 'totp:nobody', stored } }
    const password = oneTimePassword(secret, 100, form)
    expect(findStoredStep('totp:nobody', stored, password, 3000, check)).toBe(100)
    expect(findStoredStep('totp:alice', undefined, password, 3000, check)).toBeUndefined()
    const broken = { ...check, decoy: { id: 'totp:other', stored } }
    expect(() => findStoredStep('totp:alice', undefined, password, 3000, broken)).toThrow(Unavailable)
  })
})

describe('options', () => {
  const rule = 'must be 32 random bytes in base64url: 43 characters'
  it.each([
    ['no key', { sealing_key: undefined }, rule],
    ['a short key', { sealing_key: 'x'.repeat(42) }, rule],
    ['a long key', { sealing_key: 'x'.repeat(44) }, rule],
    ['a key with padding', { sealing_key: `${'A'.repeat(43)}=` }, rule],
    ['a key with stray bits', { sealing_key: `${'A'.repeat(42)}B` }, rule],
    ['seven digits', { digits: 7 }, 'expected one of 6|8'],
    ['MD5', { algorithm: 'MD5' }, 'expected one of "SHA1"|"SHA256"|"SHA512"'],
    ['a wide window', { window: 4 }, '<=3'],
    ['what there is not', { period: 60 }, 'Unrecognized key: "period"'],
  ])('refuses %s', async (_what, options, message) => {
    const refused = await createFactor(plugin, { sealing_key: 'A'.repeat(43), ...options }, {}).catch(
      (error: unknown) => error,
    )
    expect(refused).toMatchObject({ message: expect.stringContaining(message) })
    const key = (options as { sealing_key?: string }).sealing_key
    if (key !== undefined) expect((refused as Error).message).not.toContain(key)
  })
})
