import { z } from 'zod'
import { findOutboundFault, findWebhookSecretFault } from '../../../core/api/internal.js'

const address = z.string().superRefine((value, context) => {
  const fault = findOutboundFault(value)
  if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
})

const url = address.refine((value) => !new URL(value).searchParams.has('request'), 'must have no parameter request')

const forSignIn = ['title', 'logo', 'amr', 'accounts', 'links_accounts', 'after'] as const

const fields = z.strictObject({
  /** Used in `{issuer}/sign-in/{id}/callback`, the audit log and the accounts. */
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and hyphens'),
  /** The text of the button, by language. */
  title: z.record(z.string(), z.string().min(1).max(255)).optional(),
  logo: z.url({ protocol: /^https$/ }).optional(),
  /** Where people sign in. If absent, they use other methods. */
  sign_in_url: url.optional(),
  /** Where people are asked for consent. Default: Signet's own page. */
  consent_url: url.optional(),
  /** Every value that `amr` of an answer may have. Default: any. */
  amr: z.array(z.string().min(1).max(255)).optional(),
  /** Where claims are queried whenever they are needed. If absent, those of the last answer are kept. */
  accounts: z
    .strictObject({
      url: address,
      secret: z.string().superRefine((value, context) => {
        const fault = findWebhookSecretFault(value)
        if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
      }),
      cache_secs: z.int().min(0).max(60).default(5),
    })
    .optional(),
  /** Whether the service may supply claims of people whose accounts are here. */
  links_accounts: z.boolean().optional(),
  after: z.array(z.string().min(1)).min(1).optional(),
})

export const options = fields.superRefine((value, context) => {
  const { sign_in_url: signInUrl, consent_url: consentUrl } = value
  const report = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
  if (signInUrl === undefined && consentUrl === undefined) report('sign_in_url', 'or consent_url is required')
  // The service distinguishes the two requests by URL.
  if (signInUrl !== undefined && signInUrl === consentUrl)
    report('consent_url', 'must be another address than sign_in_url')
  if (signInUrl === undefined)
    for (const name of forSignIn) if (value[name] !== undefined) report(name, 'is for a sign-in: it needs sign_in_url')
})

export type HandoffOptions = z.output<typeof options>
