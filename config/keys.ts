import { z } from 'zod'
import { instant, signingAlg, text } from './fields.js'

/** The purposes for which a key may sign. */
export const keyPurposes = [
  'access_token',
  'id_token',
  'attestation',
  'userinfo',
  'introspection',
  'jarm',
  'logout_token',
  'status_list',
  'client_authentication',
  'handoff',
  'audit',
] as const

/**
 * A key without `purposes` has these. The purpose `audit` must be named, so that no key signs for auditors by
 * accident.
 */
export const defaultPurposes = keyPurposes.filter((purpose) => purpose !== 'audit')

export const purposes = z
  .array(z.enum(keyPurposes))
  .min(1, 'must name at least one purpose')
  .transform((named) => keyPurposes.filter((purpose) => named.includes(purpose)))
  .prefault([...defaultPurposes])
  .describe('What the key signs and verifies, and nothing else. Default: all but `audit`.')

const keySigner = text.describe('A name of `signers`.')
const keyAlg = signingAlg.describe('The algorithm of its signatures.')

export const kid = z
  .string()
  .regex(/^[\x21\x23-\x5B\x5D-\x7E]{1,128}$/, 'must be 1 to 128 printable characters without blanks')
  .describe('The public name: 1 to 128 printable characters. `es-2026-11`')

const keyEntry = z
  .strictObject({
    kid,
    alg: keyAlg,
    signer: keySigner,
    ref: text.describe("The backend's name for the key; for `signers/local` a file name."),
    purposes,
    not_before: instant
      .optional()
      .describe('Signs from this time on; published at once. Default: always. `2027-02-01T00:00:00Z`'),
    not_after: instant
      .optional()
      .describe('Stops signing at this time; published until its last token has expired. Default: never.'),
    allow_early: z
      .boolean()
      .default(false)
      .describe(
        'Signs at once, although relying parties may have a cached key set without it. See [signers.md](signers.md#rotation-without-a-restart).',
      ),
  })
  .refine((key) => key.not_before === undefined || key.not_after === undefined || key.not_before < key.not_after, {
    path: ['not_after'],
    message: 'must be later than not_before',
  })

const days = z.number().positive().max(36_500)

/** A slot has keys that Signet makes, announces, uses and retires by itself. */
const slotEntry = z.strictObject({
  slot: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be a name such as es: small letters, digits, - and _')
    .describe('The name of a slot, whose keys are `es-1`, `es-2` and so on. `es`'),
  alg: keyAlg,
  signer: keySigner,
  purposes,
  rotate: z
    .strictObject({
      every_days: days.default(90).describe('How long a key signs.'),
      announce_days: days
        .default(14)
        .describe('How long a key is published before it signs: at least the hour for which `/jwks.json` is cached.'),
      ahead: z.int().min(0).max(10).default(1).describe('Published keys that wait behind the one that signs.'),
      max_keys: z
        .int()
        .min(2)
        .max(100)
        .default(5)
        .describe('Keys that may exist at a time, retired ones included. A slot that would need more stops.'),
      destroy_after_days: days
        .optional()
        .describe(
          'Days after the expiry of its last token until the backend disables a key, and again until it is destroyed. Not in PKCS#11. Default: never.',
        ),
      by: z
        .enum(['service', 'ceremony'])
        .optional()
        .describe(
          'Who makes its keys: the `service` by itself, or people in a `ceremony`. See [signers.md](signers.md#ceremonies). Default: `service`.',
        ),
    })
    .prefault({})
    .describe('When its keys change. See [signers.md](signers.md#keys-that-rotate-themselves).'),
  ref: z
    .string()
    .regex(/^[A-Za-z0-9/_.{}-]{1,128}$/, 'must be 1 to 128 letters, digits and / _ . - { }')
    .default('signet-{kid}')
    .describe("The backend's name for each key; `{slot}`, `{number}` and `{kid}` are replaced."),
})

/** The inventory, in order of preference. */
export const keys = z.array(z.union([keyEntry, slotEntry])).min(1, 'must have at least one key')
