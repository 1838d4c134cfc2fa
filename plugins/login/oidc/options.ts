import { z } from 'zod'
import type { JwsAlg } from '../../../core/api/signer.js'
import { findOutboundFault, isJwsAlg } from '../../../core/api/internal.js'

const text = z.string().min(1).max(2048)
const issuer = z.string().superRefine((value, context) => {
  const fault = findOutboundFault(value) ?? (new URL(value).search === '' ? undefined : 'must have no query')
  if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
})
const alg = z.custom<JwsAlg>((value) => isJwsAlg(value), 'is no algorithm that Signet knows')

/** Claims about the token itself or its subject, which no mapping may set. */
const reserved = ['sub', 'iss', 'aud', 'exp', 'iat', 'nonce', 'acr', 'amr', 'auth_time', 'sid']

export const options = z
  .strictObject({
    /** Used in `{issuer}/sign-in/{id}/callback`, the audit log and the accounts. */
    id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and hyphens'),
    /** The text of the button, by language. */
    title: z.record(z.string(), text).optional(),
    logo: z.url({ protocol: /^https$/ }).optional(),
    issuer,
    client_id: text,
    client_secret: text.optional(),
    token_endpoint_auth_method: z.enum(['client_secret_basic', 'client_secret_post', 'private_key_jwt']).optional(),
    /** For client assertions. Default: the first algorithm of a key with the purpose `client_authentication`. */
    client_assertion_signing_alg: alg.optional(),
    /** Default: those that the provider lists. */
    id_token_signing_alg: alg.optional(),
    scope: z
      .string()
      .default('openid')
      .refine((value) => value.split(' ').includes('openid'), 'must contain openid'),
    /** The claim used as the subject here. Default: a hash of `iss` and `sub`. */
    subject: text.optional(),
    /** Whether the provider may sign in people whose accounts are here. */
    links_accounts: z.boolean().default(false),
    /** Our claims, mapped from the provider's. */
    claims: z
      .record(text, text)
      .refine((map) => !reserved.some((name) => Object.hasOwn(map, name)), `must not set ${reserved.join(', ')}`)
      .default({}),
    /** Our values of `acr`, mapped from the provider's. */
    acr: z.record(text, text).default({}),
    /** Our values of `amr`, mapped from the provider's. Without it they are used unchanged. */
    amr: z.record(text, text).optional(),
    /** Whether claims also come from the provider's userinfo endpoint, at the cost of a request per sign-in. */
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
