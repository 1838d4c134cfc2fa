import { z } from 'zod'
import { findCertificatesFault, findEvidenceLevelFault } from '../../../core/api/attestation.js'
import { reportFault } from '../../../core/api/internal.js'

const levels = z
  .array(z.string().superRefine(reportFault(findEvidenceLevelFault)))
  .min(1)
  .max(8)

/** In a browser's spelling, so that it can be compared. */
const origin = z
  .string()
  .refine(
    (value) => URL.canParse(value) && new URL(value).origin === value,
    'must be an origin such as https://id.example, without a path',
  )

export const options = z
  .strictObject({
    kind: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as webauthn: small letters, digits and _')
      .default('webauthn'),
    /** PEM certificates of manufacturers or of single authenticators. */
    roots: z.array(z.string().superRefine(reportFault(findCertificatesFault))).min(1, 'must name at least one root'),
    rp_id: z.string().min(1, 'must not be empty').max(253),
    origins: z.array(origin).min(1, 'must name at least one origin').max(64),
    /** Accepted models. If absent, all that the roots cover. */
    aaguids: z
      .array(z.guid().transform((value) => value.toLowerCase()))
      .min(1)
      .max(1000)
      .optional(),
    require_user_verification: z.boolean().default(true),
    key_storage: levels.optional(),
    /** Stated only if the authenticator has verified the user. */
    user_authentication: levels.optional(),
  })
  .refine((given) => given.key_storage !== undefined || given.user_authentication !== undefined, {
    path: ['key_storage'],
    message: 'at least one of key_storage and user_authentication must be given',
  })

export type Options = z.output<typeof options>
