import { beforeAll, describe, expect, it } from 'vitest'
import { createAttestationTokens } from '../../core/attestation/attestation-token.js'
import type { KeyRing } from '../../core/keys/ports.js'
import { Unavailable } from '../../core/unavailable.js'
import { backend, ec, key, never, open, start } from '../support/signers/memory-signer.js'

const now = start / 1000
let ring: KeyRing
beforeAll(async () => {
  ring = await open([key('es')], backend(['es', ec()]), { now: start })
})

/** Those of a process whose clock is so many seconds ahead. */
const tokensAt = (seconds: number, keys: Pick<KeyRing, 'sign' | 'publishedKey'> = ring) =>
  createAttestationTokens({
    issuer: 'https://id.example',
    ring: keys,
    clock: () => start + seconds * 1000,
    toleranceSeconds: 10,
    ttlSeconds: 3600,
    graceSeconds: 0,
    alg: 'ES256',
    typ: 'device-attestation+jwt',
  })

const content = {
  principal: { subject: 'alice', principalId: 'phone-1', principalType: 'device' },
  jkt: 'A'.repeat(43),
  attributes: {},
  enrolledAt: now,
} as const

describe('an attestation', () => {
  it.each([-10, -1, 0, 1, 10])(
    'is issued when the completion has a clock that is %d s ahead of the enrolment',
    async (ahead) => {
      const { sign, prepare } = tokensAt(ahead)
      const { token } = await sign(prepare(content), 'enrolment', never)
      for (const seconds of [0, ahead, 1800]) {
        const { enrolledAt } = await tokensAt(seconds).check(token)
        expect(enrolledAt).toBe(Math.min(now, now + ahead))
      }
    },
  )

  it('TK10 signed by a key without the purpose is refused', async () => {
    const weak = await open([key('weak', { purposes: ['userinfo'] })], backend(['weak', ec()]), { now: start })
    const { sign, prepare, check } = tokensAt(0, {
      sign: (order) => weak.sign({ ...order, purpose: 'userinfo' }),
      publishedKey: (kid) => weak.publishedKey(kid),
    })
    const { token } = await sign(prepare(content), 'enrolment', never)
    await expect(check(token)).rejects.toMatchObject({ errorCode: 'AttestationInvalid' })
  })

  it('that is too long is blamed on the source of its attributes', () => {
    const { prepare } = tokensAt(0)
    const long = { ...content, attributes: { a: 'x'.repeat(6000) } }
    expect(() => prepare(long)).toThrow(expect.objectContaining({ errorCode: 'InvalidRequest' }))
    expect(() => prepare(long, { grantedBy: 'attestation.word' })).toThrow(Unavailable)
  })
})
