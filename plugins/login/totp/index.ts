import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { definePlugin, epochSeconds } from '../../../core/api/index.js'
import {
  findStoredStep,
  otpauthUri,
  encryptSecret,
  personSecretId,
  toBase32,
  totpAlgorithms,
  unseal,
  seal,
  type StoredSecret,
  type TotpAlgorithm,
  type TotpForm,
} from '../../../core/api/internal.js'

const component = 'sign-in.totp'
const keyRule = 'must be 32 random bytes in base64url: 43 characters'

const options = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -')
    .default('totp'),
  title: z.record(z.string(), z.string()).optional(),
  /** Ids of the methods that it follows. */
  after: z.array(z.string().min(1)).min(1).default(['password']),
  acr: z.string().min(1).optional(),
  sealing_key: z
    .string(keyRule)
    .refine((text) => text.length === 43 && Buffer.from(text, 'base64url').toString('base64url') === text, keyRule)
    .transform((text) => Buffer.from(text, 'base64url')),
  algorithm: z.enum(Object.keys(totpAlgorithms) as [TotpAlgorithm, ...TotpAlgorithm[]]).default('SHA1'),
  digits: z.literal([6, 8]).default(6),
  window: z.int().min(0).max(3).default(1),
})

const defaultTitle = {
  ...{ en: 'your authenticator app', de: 'Authenticator-App', fr: 'votre application d’authentification' },
  ...{ es: 'su aplicación de autenticación', ar: 'تطبيق المصادقة' },
}

const setupOwnerOf = (subject: string, challenge: string): string => `setup:${challenge}:${subject}`

/**
 * One-time passwords of an authenticator app (RFC 6238) as a second factor, and recovery codes for people who have
 * lost it.
 */
export default definePlugin({
  name: 'totp',
  apiVersion: 1,
  options,
  needs: ['clock', 'issuer', 'personFactors'],
  create(wanted: z.output<typeof options>, { clock, issuer, personFactors: factors }) {
    const { id, title = defaultTitle, after, acr, sealing_key: key, algorithm, digits, window } = wanted
    const configured: TotpForm = { algorithm, digits }
    const nobody = personSecretId('')
    const decoy = { id: nobody, stored: encryptSecret(nobody, randomBytes(20), configured, key) }
    const stepOf = (subject: string, stored: StoredSecret | undefined, code: string): number | undefined =>
      findStoredStep(personSecretId(subject), stored, code, clock() / 1000, { key, window, decoy, component })

    const openSetup = (subject: string, challenge: string, setup: string): Uint8Array | undefined => {
      try {
        return unseal(setup, key, setupOwnerOf(subject, challenge), component)
      } catch {
        return undefined
      }
    }

    return {
      factorEnrolment: {
        kind: 'totp',
        begin: async ({ subject, accountName, challenge }, { setup: kept = '' } = {}) => {
          // After a mistyped code, the app already has the secret.
          const secret = openSetup(subject, challenge, kept) ?? randomBytes(totpAlgorithms[algorithm].secretBytes)
          const shown = toBase32(secret)
          // Nothing is stored before the app has shown that it has the secret.
          const setup = seal(secret, key, setupOwnerOf(subject, challenge))
          return { secret: shown, uri: otpauthUri(issuer, accountName, shown, configured), setup }
        },
        async finish({ subject, challenge }, { setup = '', code = '' }) {
          const secret = openSetup(subject, challenge, setup)
          if (secret === undefined) return { outcome: 'refused', why: 'the secret is not one of this page' }
          const stored = encryptSecret(personSecretId(subject), secret, configured, key)
          const lastStep = stepOf(subject, stored, code.replaceAll(/\s/g, ''))
          if (lastStep === undefined) return { outcome: 'refused', why: 'wrong one-time password' }
          return { outcome: 'made', factor: { kind: 'totp', ...stored, lastStep, createdAt: epochSeconds(clock) } }
        },
      },
      signIn: [
        {
          ...{ id, kind: 'form', amr: ['otp'], title, after },
          async begin({ passed }) {
            const factor = passed && (await factors.findTotp(passed.subject))
            return factor === undefined ? { kind: 'none' } : { kind: 'form', fields: 'code', recoveryCodes: true }
          },
          async finish({ passed }, { code = '' }) {
            if (passed === undefined) return { outcome: 'refused', why: 'nobody has signed in before' }
            const { subject } = passed
            const factor = await factors.findTotp(subject)
            const step = stepOf(subject, factor, code.replaceAll(/\s/g, ''))
            const isUsed =
              factor !== undefined &&
              ((step !== undefined && (await factors.useTotpStep(subject, factor.sealed, step))) ||
                (await factors.useRecoveryCode(subject, code)))
            if (!isUsed) return { outcome: 'refused', subject, why: 'wrong or used one-time password' }
            return { outcome: 'passed', subject, amr: ['otp'], ...(acr !== undefined && { acr }) }
          },
        },
      ],
    }
  },
})
