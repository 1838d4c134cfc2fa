import { z } from 'zod'
import { findOutboundFault, findWebhookSecretFault } from '../../../core/api/index.js'

const url = z.string().superRefine((value, context) => {
  const fault = findOutboundFault(value)
  if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
})

export const options = z.strictObject({
  /** In `{issuer}/sign-in/{id}/callback`, the audit log and the accounts. */
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and hyphens'),
  /** What the button says, by language. */
  title: z.record(z.string(), z.string().min(1).max(255)).optional(),
  logo: z.url({ protocol: /^https$/ }).optional(),
  sign_in_url: url.refine((value) => !new URL(value).searchParams.has('request'), 'must have no parameter request'),
  /** Every value that `amr` of an answer can have. Absent: any. */
  amr: z.array(z.string().min(1).max(255)).optional(),
  /** Where claims are asked for whenever they are needed. Absent: those of the last answer are kept. */
  accounts: z
    .strictObject({
      url,
      secret: z.string().superRefine((value, context) => {
        const fault = findWebhookSecretFault(value)
        if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
      }),
      cache_secs: z.int().min(0).max(60).default(5),
    })
    .optional(),
  after: z.array(z.string().min(1)).min(1).optional(),
})

export type HandoffOptions = z.output<typeof options>
