import { createHash } from 'node:crypto'
import { closest, distance } from 'fastest-levenshtein'
import { z } from 'zod'
import { allAlgorithms, findAlgorithm, isJwsAlg } from '../jose/algorithms.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { JsonObject } from '../json.js'
import { consentChoices, isClientId, securityProfiles, type Client, type SecurityProfile } from './client.js'
import { certificateSubject, findSubjectFault } from './client-certificate-subject.js'
import { clientJwks, clientJwksUri, clientRequestUris } from './client-jwks.js'
import { explainProblem, formatPath } from './metadata-problems.js'
import { isImpersonable } from './redirect-uri.js'
import { findRedirectUriFault } from './redirect-uri-registration.js'
import { findProfileFaults } from './security-profile.js'

/** One thing that is wrong with a client's metadata; `path` is within it: `redirect_uris[1]`. Holds no value of it. */
export interface MetadataProblem {
  readonly path: string
  readonly message: string
}

export type ClientParse =
  | {
      readonly client: Client
      readonly problems: readonly []
      /** What is allowed and can be better. */
      readonly warnings: readonly MetadataProblem[]
    }
  | {
      readonly client?: undefined
      readonly problems: readonly MetadataProblem[]
      readonly warnings: readonly []
    }

/** Registered names (RFC 7591 §2, OIDC Registration §2 and their extensions) that nothing here would honour. */
const notAvailable = new Set([
  'backchannel_logout_session_required',
  'backchannel_logout_uri',
  'initiate_login_uri',
  'sector_identifier_uri',
])
const unavailable = 'not available in this version'

const text = z.string().min(1, 'must not be empty')

const signingAlg = z.string().transform((value, context): JwsAlg => {
  if (isJwsAlg(value)) return value
  const message = /^hs\d+$|^none$/i.test(value)
    ? 'symmetric algorithms and none are refused'
    : `must be one of ${allAlgorithms.join(', ')}`
  context.addIssue({ code: 'custom', message })
  return z.NEVER
})

const webPage = z
  .string()
  .refine((value) => URL.canParse(value) && /^https?:\/\/[^/]/i.test(value), 'must be an http or https URL')

/**
 * 32 characters of base64url have 192 bits: enough for a plain hash. Fewer than 16 can be guessed, of whatever alphabet
 * (RFC 6749 §10.10).
 */
const secretLength = { least: 16, recommended: 32, most: 1024 } as const

const secret = z.preprocess(
  (value) =>
    typeof value === 'object' && value !== null && 'reveal' in value
      ? (value as { reveal(): unknown }).reveal()
      : value,
  // What a form and a Basic header can carry (RFC 6749 appendix A).
  z
    .string()
    .regex(
      new RegExp(`^[\\x20-\\x7E]{${String(secretLength.least)},${String(secretLength.most)}}$`),
      `must be ${String(secretLength.least)} to ${String(secretLength.most)} printable ASCII characters`,
    ),
)

/** RFC 8707 §2. */
const resourceIdentifiers = z.array(
  z
    .string()
    .refine(
      (value) => URL.canParse(value) && !value.includes('#'),
      'must be an absolute URI without fragment (RFC 8707 §2)',
    ),
)

const metadataSchema = z.strictObject({
  client_id: z.string().refine(isClientId, 'must be 1 to 255 printable ASCII characters'),
  client_name: text.optional(),
  client_secret: secret.optional(),
  client_secret_expires_at: z.int().min(0).optional(),
  application_type: z.enum(['web', 'native']).default('web'),
  redirect_uris: z.array(z.string()).default([]),
  post_logout_redirect_uris: z.array(z.string()).optional(),
  grant_types: z
    .array(
      z.string().refine((name) => /^[\w-]+$/.test(name) || URL.canParse(name), 'must be a grant type name or a URN'),
    )
    .min(1, 'must name at least one grant type')
    .default(['authorization_code']),
  response_types: z.array(z.literal('code')).optional(),
  scope: z
    .string()
    .regex(
      /^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/,
      'must be scope names with one blank between them',
    )
    .optional(),
  token_endpoint_auth_method: text.optional(),
  token_endpoint_auth_signing_alg: z.preprocess((value) => findAlgorithm(value) ?? value, signingAlg).optional(),
  jwks: clientJwks.optional(),
  jwks_uri: clientJwksUri.optional(),
  id_token_signed_response_alg: signingAlg.optional(),
  userinfo_signed_response_alg: signingAlg.optional(),
  introspection_signed_response_alg: signingAlg.optional(),
  authorization_signed_response_alg: signingAlg.optional(),
  subject_type: z
    .literal('public', { error: ({ input }) => (input === 'pairwise' ? `pairwise: ${unavailable}` : undefined) })
    .optional(),
  include_claims_in_id_token: z.boolean().optional(),
  consent: z.enum(consentChoices).optional(),
  default_max_age: z.int().min(0).optional(),
  default_acr_values: z.array(text).min(1).optional(),
  require_auth_time: z.boolean().optional(),
  dpop_bound_access_tokens: z.boolean().optional(),
  tls_client_auth_subject_dn: certificateSubject.tls_client_auth_subject_dn,
  tls_client_auth_san_dns: certificateSubject.tls_client_auth_san_dns,
  tls_client_auth_san_uri: certificateSubject.tls_client_auth_san_uri,
  tls_client_auth_san_ip: certificateSubject.tls_client_auth_san_ip,
  tls_client_auth_san_email: certificateSubject.tls_client_auth_san_email,
  tls_client_certificate_bound_access_tokens: z.boolean().optional(),
  require_pushed_authorization_requests: z.boolean().optional(),
  require_signed_request_object: z.boolean().optional(),
  request_object_signing_alg: signingAlg.optional(),
  request_uris: clientRequestUris.optional(),
  authorization_details_types: z.array(text).optional(),
  contacts: z.array(text).optional(),
  logo_uri: webPage.optional(),
  policy_uri: webPage.optional(),
  tos_uri: webPage.optional(),
  allowed_audiences: resourceIdentifiers.default([]),
  introspection_audiences: resourceIdentifiers.optional(),
  security_profile: z.enum(securityProfiles).optional(),
  disabled: z.boolean().optional(),
  /** For plugins of the deployer's own. */
  metadata: z.record(z.string(), z.json()).default({}),
})

/** Methods that prove a key. */
const provesKey: ReadonlySet<string> = new Set(['private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth'])

type Metadata = z.output<typeof metadataSchema>

const knownNames = Object.keys(metadataSchema.shape)

const explainUnknown = (name: string): string => {
  if (notAvailable.has(name)) return unavailable
  const near = closest(name, knownNames)
  return distance(name, near) <= Math.max(2, near.length / 4)
    ? `unknown member; did you mean \`${near}\`?`
    : 'unknown member'
}

/** What the members say together. Each is asked for only when it was understood. */
const findContradictions = (metadata: Partial<Metadata>): MetadataProblem[] => {
  const {
    application_type,
    redirect_uris = [],
    grant_types,
    response_types,
    token_endpoint_auth_method: method,
  } = metadata
  const problems: MetadataProblem[] = []
  const add = (path: string, message: string) => problems.push({ path, message })

  if (application_type !== undefined)
    for (const name of ['redirect_uris', 'post_logout_redirect_uris'] as const)
      for (const [index, uri] of (metadata[name] ?? []).entries()) {
        const fault = typeof uri === 'string' ? findRedirectUriFault(uri, application_type) : undefined
        if (fault !== undefined) add(`${name}[${String(index)}]`, fault)
      }
  const usesCode = grant_types?.includes('authorization_code')
  if (usesCode === true && metadata.redirect_uris?.length === 0)
    add('redirect_uris', 'is required for the grant authorization_code')
  if (usesCode === false && (response_types?.length ?? 0) > 0)
    add('response_types', 'code needs the grant authorization_code (RFC 7591 §2.1)')
  if (usesCode === true && response_types?.length === 0)
    add('response_types', 'must hold code for the grant authorization_code (RFC 7591 §2.1)')

  const isPosed = (uri: string) => isImpersonable({ token_endpoint_auth_method: method, application_type }, uri)
  if (metadata.consent === 'implicit' && redirect_uris.some(isPosed))
    add(
      'consent',
      'must not be implicit for a public client that is native or has a redirect URI on loopback (RFC 8252 §8.6)',
    )

  if (method === 'none' && grant_types?.includes('client_credentials') === true)
    add('grant_types', 'client_credentials is for clients that authenticate (RFC 6749 §4.4)')
  if (method === 'none' && metadata.client_secret !== undefined)
    add('client_secret', 'a client with token_endpoint_auth_method none has no secret')
  if (method === 'client_secret_jwt') add('token_endpoint_auth_method', 'client_secret_jwt is symmetric and refused')
  else if (!('client_secret' in metadata)) {
    if (method?.startsWith('client_secret_') === true)
      add('client_secret', `is required for token_endpoint_auth_method ${method}`)
    if (!('token_endpoint_auth_method' in metadata))
      add('client_secret', 'is required without a token_endpoint_auth_method')
  }
  if ('jwks' in metadata && 'jwks_uri' in metadata)
    add('jwks_uri', 'must not be given together with jwks (RFC 7591 §2)')
  const subjectFault = findSubjectFault(metadata, method)
  if (subjectFault !== undefined) problems.push(subjectFault)
  if (method === undefined || !provesKey.has(method)) return problems
  if (method !== 'tls_client_auth' && !('jwks' in metadata) && !('jwks_uri' in metadata))
    add('jwks', `or jwks_uri is required for token_endpoint_auth_method ${method}`)
  if (metadata.client_secret !== undefined)
    add('client_secret', `a client with token_endpoint_auth_method ${method} has no secret`)
  return problems
}

const findAdvice = ({ client_secret }: Metadata): MetadataProblem[] =>
  client_secret === undefined || client_secret.length >= secretLength.recommended
    ? []
    : [{ path: 'client_secret', message: `should have at least ${String(secretLength.recommended)} random characters` }]

/** A member that is there and undefined is one that is not there. */
const withoutUndefined = <T extends object>(value: T): { [Name in keyof T]: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never

const toClient = (
  { client_secret, response_types, scope, subject_type: _public, security_profile, ...rest }: Metadata,
  scopesSupported: readonly string[],
  securityProfile: SecurityProfile,
): Client => {
  return {
    ...withoutUndefined(rest),
    security_profile: security_profile ?? securityProfile,
    response_types: response_types ?? (rest.grant_types.includes('authorization_code') ? ['code'] : []),
    scope: scope === undefined ? scopesSupported : [...new Set(scope.split(' '))],
    ...(client_secret !== undefined && {
      client_secret_sha256: createHash('sha256').update(client_secret).digest('base64url'),
    }),
  }
}

/** What of a client is no metadata: its secret, and the one before it. */
export const secretMembers = [
  'client_secret_sha256',
  'previous_client_secret_sha256',
  'previous_client_secret_expires_at',
] as const satisfies readonly (keyof Client)[]

/** The metadata that `client` was parsed from, with defaults and without its secrets: `parseClientMetadata` reads it again. */
export const toMetadata = (client: Client): JsonObject => {
  const members = Object.entries(client).filter(([name]) => !secretMembers.some((secret) => secret === name))
  const metadata: JsonObject = Object.fromEntries(members)
  return { ...metadata, scope: client.scope.join(' ') }
}

/**
 * A client from its metadata (RFC 7591 §2, OIDC Registration §2) with the defaults filled in and the secret hashed.
 * `client_secret` may be text or hold it behind `reveal()`. Without `scope` a client may ask for all of
 * `scopesSupported`, without `security_profile` it has the deployment's. Reports everything that is wrong at once and throws nothing.
 */
export const parseClientMetadata = (
  metadata: unknown,
  scopesSupported: readonly string[],
  securityProfile: SecurityProfile = 'oauth2',
): ClientParse => {
  const result = metadataSchema.safeParse(metadata, { error: explainProblem })
  if (result.success) {
    const problems = findContradictions(withoutUndefined(result.data))
    const client = toClient(result.data, scopesSupported, securityProfile)
    problems.push(...findProfileFaults(client))
    if (problems.length > 0) return { problems, warnings: [] }
    return { client, problems: [], warnings: findAdvice(result.data) }
  }
  const problems = result.error.issues.flatMap((issue): MetadataProblem[] =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((name) => ({ path: formatPath([...issue.path, name]), message: explainUnknown(name) }))
      : [{ path: formatPath(issue.path), message: issue.message }],
  )
  return { problems: [...problems, ...findContradictions(understood(metadata))], warnings: [] }
}

/** The members that are right on their own. */
const understood = (metadata: unknown): Partial<Metadata> => {
  if (typeof metadata !== 'object' || metadata === null) return {}
  const given = metadata as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(metadataSchema.shape).flatMap(([name, schema]): [string, unknown][] => {
      const member = schema.safeParse(given[name])
      // A wrong member is there all the same: nothing is to be said about its absence.
      if (!member.success) return given[name] === undefined ? [] : [[name, undefined]]
      return member.data === undefined ? [] : [[name, member.data]]
    }),
  )
}
