import { z } from 'zod'
import { findCertificatesFault, findEvidenceLevelFault } from '../../../core/api/attestation.js'
import { reportFault } from '../../../core/api/internal.js'
import { appleRoot } from './apple-root.js'

export const options = z.strictObject({
  kind: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as apple_app_attest: small letters, digits and _')
    .default('apple_app_attest'),
  /** PEM. */
  roots: z
    .array(z.string().superRefine(reportFault(findCertificatesFault)))
    .min(1, 'must name at least one root')
    .default([appleRoot]),
  /** The team's prefix and the bundle id of each application. */
  app_ids: z
    .array(z.string().regex(/^[A-Z0-9]{10}\.[\w.-]{1,155}$/, 'must be a team and a bundle such as A1B2C3D4E5.com.bank'))
    .min(1, 'must name at least one application')
    .max(64),
  /** Apple marks applications that Xcode has signed for development. */
  environment: z.enum(['production', 'development']).default('production'),
  key_storage: z
    .array(z.string().superRefine(reportFault(findEvidenceLevelFault)))
    .min(1)
    .max(8),
})
