import { z } from 'zod'
import type { JsonObject } from '../../../core/api/index.js'
import { algorithms, type JwsAlg } from '../../../core/api/signer.js'
import { findJwkFault, findOutboundFault, reportFault } from '../../../core/api/internal.js'
import { findTemplateFault } from './template.js'

const allAlgs = Object.keys(algorithms) as [JwsAlg, ...JwsAlg[]]

const jwk = z.custom<JsonObject>().superRefine(reportFault(findJwkFault))

const template = z.string().min(1, 'must not be empty').superRefine(reportFault(findTemplateFault))

const rule = z.strictObject({
  when: z
    .record(z.string().min(1), z.union([z.string(), z.number(), z.boolean()]))
    .refine((when) => Object.keys(when).length > 0, 'must name at least one claim'),
  principal: z.strictObject({
    subject: template,
    principal_id: template,
    principal_type: z.enum(['device', 'service']).default('service'),
  }),
  /** The granted attributes. If absent, those asked for. */
  attributes: z.record(z.string().min(1), z.union([template, z.number(), z.boolean()])).optional(),
})

export type Rule = z.output<typeof rule>

export const options = z
  .strictObject({
    kind: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as ci_jwt: small letters, digits and _')
      .default('workload_jwt'),
    issuer: z.string().min(1, 'must not be empty'),
    jwks_uri: z.string().superRefine(reportFault(findOutboundFault)).optional(),
    jwks: z.strictObject({ keys: z.array(jwk).min(1, 'must hold at least one key').max(16) }).optional(),
    /** Default: our issuer. */
    audience: z.string().min(1, 'must not be empty').optional(),
    algs: z.array(z.enum(allAlgs)).min(1, 'must name at least one algorithm').default(['RS256', 'ES256']),
    /** Counted from `iat`. */
    max_age_secs: z.int().min(1).max(86_400).default(3600),
    rules: z.array(rule).min(1, 'must have at least one rule').max(1000),
  })
  .refine(({ jwks, jwks_uri }) => (jwks === undefined) !== (jwks_uri === undefined), {
    path: ['jwks_uri'],
    message: 'exactly one of jwks_uri and jwks must be given',
  })

export type Options = z.output<typeof options>
