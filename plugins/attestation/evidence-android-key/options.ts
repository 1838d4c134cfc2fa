import { z } from 'zod'
import { findCertificatesFault, findEvidenceLevelFault } from '../../../core/api/attestation.js'
import { findOutboundFault, reportFault } from '../../../core/api/internal.js'
import { findListFault } from './read-list.js'

/** A value of OpenID4VCI appendix D.2, or a name in the deployer's own namespace. */
const level = z.string().superRefine(reportFault(findEvidenceLevelFault))
const levels = z.array(level).min(1).max(8)

const claims = z.strictObject({
  key_storage: levels,
  /** Stated only for keys that need the screen lock or a fingerprint. */
  user_authentication: levels.optional(),
})

const sha256 = z
  .string()
  .transform((value) => value.replaceAll(':', '').toLowerCase())
  .refine((value) => /^[\da-f]{64}$/.test(value), 'must be a SHA-256 digest in hexadecimal')

const patchLevel = z.int().min(201_001).max(999_912)

export const options = z
  .strictObject({
    kind: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as android_key: small letters, digits and _')
      .default('android_key'),
    /** PEM of the roots. */
    roots: z.array(z.string().superRefine(reportFault(findCertificatesFault))).min(1, 'must name at least one root'),
    /** The list of revoked certificates: its text, or its address. */
    revocation_list: z.string().superRefine(reportFault(findListFault)).optional(),
    revocation_list_url: z.string().superRefine(reportFault(findOutboundFault)).optional(),
    revocation_list_max_age_secs: z.int().min(60).max(86_400).default(3600),
    /** How long the last fetched list is used when the next one cannot be fetched. */
    revocation_list_stale_secs: z
      .int()
      .min(0)
      .max(30 * 86_400)
      .default(86_400),
    packages: z
      .array(
        z.strictObject({
          name: z.string().min(1, 'must not be empty').max(256),
          signature_digests: z.array(sha256).min(1, 'must have at least one digest').max(16),
        }),
      )
      .min(1, 'must name at least one package')
      .max(64),
    /** What attestations state for keys in each place. Keys in a place that is not named are refused. */
    security_levels: z
      .strictObject({ trusted_environment: claims.optional(), strong_box: claims.optional() })
      .refine(
        (named) => named.strong_box !== undefined || named.trusted_environment !== undefined,
        'must name trusted_environment, strong_box or both',
      ),
    require_user_authentication: z.boolean().default(false),
    /** In the device's form: 130000 is Android 13. */
    min_os_version: z.int().min(0).max(999_999).optional(),
    /** Year and month: 202601. */
    min_os_patch_level: patchLevel.optional(),
  })
  .refine((given) => (given.revocation_list === undefined) !== (given.revocation_list_url === undefined), {
    path: ['revocation_list_url'],
    message: 'exactly one of revocation_list and revocation_list_url must be given',
  })

export type Options = z.output<typeof options>
