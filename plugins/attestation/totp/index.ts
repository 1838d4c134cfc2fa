import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { definePlugin, type AttemptPolicy } from '../../../core/api/index.js'
import { principalDigest } from '../../../core/api/attestation.js'
import {
  findStoredStep,
  otpauthUri,
  encryptSecret,
  stepSeconds,
  toBase32,
  totpAlgorithms,
  type StoredSecret,
  type TotpAlgorithm,
  type TotpForm,
} from '../../../core/api/internal.js'
import { createUsedSteps } from './used-steps.js'

const kind = 'totp'
const component = 'attestation.totp'
const keyRule = 'must be 32 random bytes in base64url: 43 characters'

const options = z.strictObject({
  sealing_key: z
    .string(keyRule)
    .refine((text) => text.length === 43 && Buffer.from(text, 'base64url').toString('base64url') === text, keyRule)
    .transform((text) => Buffer.from(text, 'base64url')),
  algorithm: z.enum(Object.keys(totpAlgorithms) as [TotpAlgorithm, ...TotpAlgorithm[]]).default('SHA1'),
  digits: z.literal([6, 8]).default(6),
  window: z.int().min(0).max(3).default(1),
})

/** With six digits and a window of 1, a guess succeeds once in 333,333; this policy leaves about 100 a day. */
const guesses: AttemptPolicy = { free: 5, baseDelaySeconds: 1, maxDelaySeconds: 900, forgetAfterSeconds: 86_400 }

/** Time-based one-time passwords (RFC 6238), each accepted once. */
export default definePlugin({
  name: 'attestation/totp',
  apiVersion: 1,
  options,
  needs: ['clock', 'issuer', 'attempts', 'clockToleranceSeconds', 'factorRecords', 'factorClaims'],
  create: ({ sealing_key: key, algorithm, digits, window }: z.output<typeof options>, services) => {
    const { clock, issuer, attempts, clockToleranceSeconds, factorRecords, factorClaims } = services
    const configured: TotpForm = { algorithm, digits }
    const used = createUsedSteps({ kind, claims: factorClaims, records: factorRecords, window, clockToleranceSeconds })

    const idOf = (digest: string): string => `${kind}:${digest}`
    const newSecret = (): Buffer => randomBytes(totpAlgorithms[algorithm].secretBytes)
    const nobody = idOf('nobody')
    const decoy = { id: nobody, stored: encryptSecret(nobody, newSecret(), configured, key) }

    return {
      secondFactors: [
        {
          kind,
          async verify({ principal }, { value }) {
            const digest = principalDigest(principal)
            // Read before the attempt is counted, so that an outage counts none. A caller that has to wait learns
            // nothing from it.
            const [found, lastUsed] = await Promise.all([factorRecords.find(idOf(digest)), used.findLast(digest)])
            const secret = found as StoredSecret | undefined
            const step = findStoredStep(idOf(digest), secret, value, clock() / 1000, { key, window, decoy, component })
            // Applies to everybody, so that parallel guesses are counted and unknown principals are slowed down
            // alike.
            if (!(await attempts.take(kind, digest, guesses)).allowed)
              return { ok: false, reason: 'too many wrong one-time passwords' }
            if (step === undefined) return { ok: false, reason: 'wrong one-time password' }
            // Cleared now, so that a repetition during an outage is not counted; but not for a used or older step,
            // because seeing an old password must not win guesses. A remaining count only delays.
            if (step > lastUsed) await attempts.clear(kind, digest).catch(() => undefined)
            return { ok: true, amr: ['otp'], consume: () => used.claim(digest, step) }
          },
          async issue(principal) {
            const digest = principalDigest(principal)
            const secret = newSecret()
            await factorRecords.put(idOf(digest), { ...encryptSecret(idOf(digest), secret, configured, key) })
            await attempts.clear(kind, digest)
            const shown = toBase32(secret)
            return {
              lines: { secret: shown, algorithm, digits: String(digits), period: `${String(stepSeconds)} s` },
              uri: otpauthUri(issuer, `${principal.subject} ${principal.principalId}`, shown, configured),
            }
          },
          withdraw: (principal) => factorRecords.remove(idOf(principalDigest(principal))),
        },
      ],
    }
  },
})
