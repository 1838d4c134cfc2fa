import { z } from 'zod'
import { resourceUri, scopeToken, signingAlg, text } from './fields.js'

const names = z.array(text).min(1, 'must not be empty')

/** What clients may ask for when they register themselves; what follows from the rest of the file is filled in later. */
const policy = z.strictObject({
  /** Absent: `authorization_code` and `refresh_token`. */
  grant_types: names.optional(),
  /** Absent: all that the plugins provide. */
  token_endpoint_auth_methods: names.optional(),
  /** Absent: those of OpenID Connect among `scopes_supported`. */
  scopes: z.array(scopeToken).optional(),
  audiences: z.array(resourceUri).default([]),
  /** Absent: all that there are. */
  signing_algs: z.array(signingAlg).min(1, 'must not be empty').optional(),
  authorization_details_types: z.array(text).default([]),
  /** Absent: the deployment's. */
  security_profile: z.enum(['oauth2', 'fapi2']).optional(),
  require_software_statement: z.boolean().default(false),
})

const statementIssuer = z
  .strictObject({
    issuer: text,
    jwks: z
      .strictObject({ keys: z.array(z.record(z.string(), z.json())).min(1, 'must not be empty').max(16) })
      .optional(),
    jwks_uri: text.optional(),
    signing_algs: z.array(signingAlg).min(1, 'must not be empty').default(['PS256', 'ES256', 'RS256']),
    /** Since `iat`. Absent: statements say themselves when they expire, or do not. */
    max_age_secs: z.int().min(1).max(315_360_000).optional(),
    /** Under which claim a member of client metadata stands, where that is not its own name. */
    claims: z.record(text, text).default({}),
  })
  .refine(({ jwks, jwks_uri }) => (jwks === undefined) !== (jwks_uri === undefined), {
    path: ['jwks_uri'],
    message: 'exactly one of jwks_uri and jwks must be given',
  })

/** Dynamic client registration (RFC 7591). */
export const registration = z
  .strictObject({
    mode: z.enum(['off', 'initial_access_token', 'open']).default('off'),
    /** Of every client whose initial access token names none of `policies`. */
    policy: policy.prefault({}),
    policies: z
      .record(
        z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be a name such as partners: small letters, digits, - and _'),
        policy,
      )
      .default({}),
    /** After so many days a client that was never used is forgotten. */
    unused_days: z.int().min(1).max(3650).default(30),
    software_statements: z.array(statementIssuer).default([]),
  })
  .prefault({})
