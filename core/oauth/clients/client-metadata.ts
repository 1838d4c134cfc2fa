import { createHash } from 'node:crypto'
import { closest, distance } from 'fastest-levenshtein'
import type { JsonObject } from '../../json.js'
import { cibaGrant } from '../ciba/request.js'
import type { Client, SecurityProfile } from './client.js'
import { findSubjectFault } from './client-certificate-subject.js'
import { metadataSchema, notAvailable, secretLength, unavailable, type Metadata } from './client-metadata-schema.js'
import { findEncryptionFaults } from './encryption-metadata.js'
import { explainProblem, formatPath } from './metadata-problems.js'
import { foreignKeysOf } from './client-jwks.js'
import { isImpersonable } from '../requests/redirect-uri.js'
import { findRedirectUriFault } from './redirect-uri-registration.js'
import { findSectorFault } from './sector.js'
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

/** Methods that prove a key. */
/** Methods by a key, which the client registers for some of them. */
const provesKey: ReadonlyMap<string, 'registered' | 'elsewhere'> = new Map([
  ['private_key_jwt', 'registered'],
  ['self_signed_tls_client_auth', 'registered'],
  ['tls_client_auth', 'elsewhere'],
  ['attest_jwt_client_auth', 'elsewhere'],
  ['attest_jwt_client_auth_dpop', 'elsewhere'],
])

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
  if (method === 'none' && grant_types?.includes(cibaGrant) === true)
    add('grant_types', 'CIBA is for clients that authenticate (OpenID CIBA Core §7.1)')
  const isPing = metadata.backchannel_token_delivery_mode === 'ping'
  if (isPing && !('backchannel_client_notification_endpoint' in metadata))
    add('backchannel_client_notification_endpoint', 'is required for backchannel_token_delivery_mode ping')
  if (!isPing && metadata.backchannel_client_notification_endpoint !== undefined)
    add('backchannel_client_notification_endpoint', 'is for backchannel_token_delivery_mode ping alone')
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
  problems.push(...findEncryptionFaults(metadata))
  const sectorFault = findSectorFault(metadata)
  if (sectorFault !== undefined) problems.push(sectorFault)
  const subjectFault = findSubjectFault(metadata, method)
  if (subjectFault !== undefined) problems.push(subjectFault)
  if (method === undefined || !provesKey.has(method)) return problems
  if (provesKey.get(method) === 'registered' && !('jwks' in metadata) && !('jwks_uri' in metadata))
    add('jwks', `or jwks_uri is required for token_endpoint_auth_method ${method}`)
  if (metadata.client_secret !== undefined)
    add('client_secret', `a client with token_endpoint_auth_method ${method} has no secret`)
  return problems
}

const findAdvice = ({ client_secret, jwks }: Metadata): MetadataProblem[] => [
  ...(client_secret === undefined || client_secret.length >= secretLength.recommended
    ? []
    : [
        {
          path: 'client_secret',
          message: `should have at least ${String(secretLength.recommended)} random characters`,
        },
      ]),
  ...foreignKeysOf(jwks?.keys ?? []).map((at) => ({
    path: `jwks.keys[${String(at)}]`,
    message: 'is ignored: its type, use or algorithm is none of those that are accepted (RFC 7517 §5)',
  })),
]

/** A member that is there and undefined is one that is not there. */
const withoutUndefined = <T extends object>(value: T): { [Name in keyof T]: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never

const toClient = (
  { client_secret, response_types, scope, security_profile, ...rest }: Metadata,
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
export const toMetadata = ({ registration: _how, ...client }: Client): JsonObject => {
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
