import { z } from 'zod'
import { resourceUri, scopeToken, signingAlg, text } from './fields.js'

const names = z.array(text).min(1, 'must not be empty')

/**
 * What clients may request when they register themselves. Defaults that depend on the rest of the file are filled in
 * later.
 */
const policy = z.strictObject({
  grant_types: names
    .optional()
    .describe(
      'Grants that a client may register. A client that names none gets the first one, or `authorization_code` if it is among them. Default: `authorization_code` and `refresh_token`.',
    ),
  token_endpoint_auth_methods: names
    .optional()
    .describe(
      'Methods that a client may register. The first one is the [default](registration.md), unless `client_secret_basic` is among them. Default: all that the plugins provide. `[private_key_jwt]`',
    ),
  scopes: z
    .array(scopeToken)
    .optional()
    .describe(
      'Scopes that a client may register, and those of a client that names none. Default: `openid`, `profile`, `email`, `address`, `phone` and `offline_access`, as far as supported. `[openid, accounts]`',
    ),
  audiences: z.array(resourceUri).default([]).describe('`allowed_audiences` of its clients.'),
  signing_algs: z
    .array(signingAlg)
    .min(1, 'must not be empty')
    .optional()
    .describe(
      'Algorithms that a client may register, for what Signet signs for it and for what it signs. Default: all. `[PS256, ES256]`',
    ),
  authorization_details_types: z
    .array(text)
    .default([])
    .describe('Types of `authorization_details` that a client may register.'),
  security_profile: z
    .enum(['oauth2', 'fapi2'])
    .optional()
    .describe(
      'The profile of every client. [`fapi2`](fapi.md) refuses what the profile does. Default: `security_profile`.',
    ),
  require_software_statement: z
    .boolean()
    .default(false)
    .describe('Refuses registrations without a [software statement](registration.md#software-statements).'),
})

const statementIssuer = z
  .strictObject({
    issuer: text.describe('`iss` of the statements. `https://directory.example`'),
    jwks: z
      .strictObject({
        keys: z
          .array(z.record(z.string(), z.json()))
          .min(1, 'must not be empty')
          .max(16)
          .describe('Public keys as JWKs.'),
      })
      .optional()
      .describe('Its public keys: this or `jwks_uri`.'),
    jwks_uri: text.optional().describe('Where its keys are: https, or http on loopback. This or `jwks`.'),
    signing_algs: z
      .array(signingAlg)
      .min(1, 'must not be empty')
      .default(['PS256', 'ES256', 'RS256'])
      .describe('The algorithms that may sign a statement.'),
    max_age_secs: z
      .int()
      .min(1)
      .max(315_360_000)
      .optional()
      .describe('How old a statement may be, by its `iat`. Without it, only `exp` ends one.'),
    claims: z
      .record(text, text)
      .default({})
      .describe(
        'Which claim stands for a member of client metadata, if it is not called the same. `{ redirect_uris: software_redirect_uris }`',
      ),
  })
  .refine(({ jwks, jwks_uri }) => (jwks === undefined) !== (jwks_uri === undefined), {
    path: ['jwks_uri'],
    message: 'exactly one of jwks_uri and jwks must be given',
  })

/** Dynamic client registration (RFC 7591). */
export const registration = z
  .strictObject({
    mode: z
      .enum(['off', 'initial_access_token', 'open'])
      .default('off')
      .describe(
        'Who may register a client: nobody, who has an initial access token (`signet registrations issue`), or anybody.',
      ),
    policy: policy.prefault({}).describe('What clients may ask for.'),
    policies: z
      .record(
        z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be a name such as partners: small letters, digits, - and _'),
        policy,
      )
      .default({})
      .describe(
        'Policies by name, for initial access tokens that carry one. `{ partners: { scopes: [openid, accounts] } }`',
      ),
    unused_days: z
      .int()
      .min(1)
      .max(3650)
      .default(30)
      .describe(
        'After so many days Signet forgets a client that was never used; after an hour one that [no request has named](registration.md#clients-that-nobody-uses).',
      ),
    software_statements: z
      .array(statementIssuer)
      .default([])
      .describe('Issuers whose [software statements](registration.md#software-statements) are believed.'),
  })
  .prefault({})
