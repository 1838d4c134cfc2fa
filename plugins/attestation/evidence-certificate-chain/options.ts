import { z } from 'zod'
import { findCertificatesFault, findEvidenceLevelFault } from '../../../core/api/attestation.js'
import { reportFault } from '../../../core/api/internal.js'

const levels = z
  .array(z.string().superRefine(reportFault(findEvidenceLevelFault)))
  .min(1)
  .max(8)

const oid = z.string().regex(/^[0-2](?:\.(?:0|[1-9]\d*)){1,30}$/, 'must be an object identifier such as 2.23.133.8.3')

const certificates = z.string().superRefine(reportFault(findCertificatesFault))

const thumbprint = z
  .string()
  .transform((value) => value.replaceAll(':', '').toLowerCase())
  .refine((value) => /^[\da-f]{64}$/.test(value), 'must be the SHA-256 of a certificate in hexadecimal')

export const options = z.strictObject({
  kind: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as certificate_chain: small letters, digits and _')
    .default('certificate_chain'),
  /** PEM of the vendor's roots. */
  roots: z.array(certificates).min(1, 'must name at least one root'),
  /** PEM certificates of intermediates that devices may omit. */
  intermediates: z.array(certificates).default([]),
  /** The key's certificate must have each of these extended key usages. */
  extended_key_usages: z.array(oid).max(16).default([]),
  /** The key's certificate must have each of these extensions, whatever they contain. */
  extensions: z.array(oid).max(16).default([]),
  /** SHA-256 of certificates that are no longer trusted, anywhere in a chain. */
  revoked: z.array(thumbprint).max(10_000).default([]),
  key_storage: levels,
  user_authentication: levels.optional(),
})
