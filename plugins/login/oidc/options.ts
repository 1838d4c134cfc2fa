import { z } from 'zod'
import type { JwsAlg } from '../../../core/api/signer.js'
import { findOutboundFault, isJwsAlg } from '../../../core/api/internal.js'

const text = z.string().min(1).max(2048)
const issuer = z.string().superRefine((value, context) => {
  const fault = findOutboundFault(value) ?? (new URL(value).search === '' ? undefined : 'must have no query')
  if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
})
const alg = z.custom<JwsAlg>((value) => isJwsAlg(value), 'is no algorithm that Signet knows')

/** Claims that say what a token is, or whose; no mapping may set them. */
const reserved = ['sub', 'iss', 'aud', 'exp', 'iat', 'nonce', 'acr', 'amr', 'auth_time', 'sid']

export const options = z
  .strictObject({
    /** In `{issuer}/sign-in/{id}/callback`, the audit log and the accounts. */
    id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and hyphens'),
    /** What the button says, by language. */
    title: z.record(z.string(), text).optional(),
    logo: z.url({ protocol: /^https$/ }).optional(),
    issuer,
    client_id: text,
    client_secret: text.optional(),
    token_endpoint_auth_method: z.enum(['client_secret_basic', 'client_secret_post', 'private_key_jwt']).optional(),
    /** Of client assertions. Absent: the first algorithm that a key with the purpose `client_authentication` has. */
    client_assertion_signing_alg: alg.optional(),
    /** Absent: those that the provider lists. */
    id_token_signing_alg: alg.optional(),
    scope: z
      .string()
      .default('openid')
      .refine((value) => value.split(' ').includes('openid'), 'must contain openid'),
    /** The claim that is the subject here; absent: a hash of `iss` and `sub`. */
    subject: text.optional(),
    /** The provider may sign people in whose accounts are here. */
    links_accounts: z.boolean().default(false),
    /** Claims here, by the claims of the provider. */
    claims: z
      .record(text, text)
      .refine((map) => !reserved.some((name) => Object.hasOwn(map, name)), `must not set ${reserved.join(', ')}`)
      .default({}),
    /** Values of `acr` here, by those of the provider. */
    acr: z.record(text, text).default({}),
    /** Values of `amr` here, by those of the provider. Without it the provider's are taken as they are. */
    amr: z.record(text, text).optional(),
    /** Claims come from the provider's userinfo endpoint, too: one more request at each sign-in. */
    userinfo: z.boolean().default(false),
    after: z.array(text).min(1).optional(),
  })
  .superRefine((value, context) => {
    const method = value.token_endpoint_auth_method
    if (method === 'private_key_jwt' && value.client_secret !== undefined)
      context.addIssue({ code: 'custom', path: ['client_secret'], message: 'is not used with private_key_jwt' })
    if (method !== 'private_key_jwt' && value.client_secret === undefined)
      context.addIssue({
        code: 'custom',
        path: ['client_secret'],
        message: 'is required, unless token_endpoint_auth_method is private_key_jwt',
      })
  })

export type UpstreamOptions = z.output<typeof options>
