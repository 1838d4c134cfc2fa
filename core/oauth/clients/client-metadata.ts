import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { formatPath, type Path } from '../../format-path.js'
import type { JsonObject } from '../../json.js'
import { findNearMiss } from '../../near-miss.js'
import type { Client, SecurityProfile } from './client.js'
import { metadataSchema, notAvailable, secretLength, unavailable, type Metadata } from './client-metadata-schema.js'
import { findContradictions, type MetadataProblem } from './metadata-rules.js'
import { foreignKeysOf } from './client-jwks.js'
import { findProfileFaults } from './security-profile.js'

export type ClientParse =
  | {
      readonly client: Client
      readonly problems: readonly []
      /** Problems with metadata that are allowed but should be improved. */
      readonly warnings: readonly MetadataProblem[]
    }
  | {
      readonly client?: undefined
      readonly problems: readonly MetadataProblem[]
      readonly warnings: readonly []
    }

const knownNames = Object.keys(metadataSchema.shape)

const explainUnknown = (name: string): string => {
  if (notAvailable.has(name)) return unavailable
  const near = findNearMiss(name, knownNames)
  return near === undefined ? 'unknown member' : `unknown member; did you mean \`${near}\`?`
}

/** Explains what is wrong with one member, in the terms of the person who wrote it. */
const explainProblem: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined) return 'is required'
  if (issue.code === 'invalid_type')
    return `must be ${issue.expected === 'string' ? 'a string (put it in quotes)' : `of type ${issue.expected}`}`
  if (issue.code === 'invalid_value') return `must be ${issue.values.map(String).join(' or ')}`
  return undefined
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

/** Treats a member whose value is undefined as absent. */
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

/** These members of a client are not metadata: its secret and the previous one. */
export const secretMembers = [
  'client_secret_sha256',
  'previous_client_secret_sha256',
  'previous_client_secret_expires_at',
] as const satisfies readonly (keyof Client)[]

/**
 * Returns the metadata that `client` was parsed from, with defaults and without its secrets. `parseClientMetadata`
 * can read it again.
 */
export const toMetadata = ({ registration: _how, ...client }: Client): JsonObject => {
  const members = Object.entries(client).filter(([name]) => !secretMembers.some((secret) => secret === name))
  const metadata: JsonObject = Object.fromEntries(members)
  return { ...metadata, scope: client.scope.join(' ') }
}

/**
 * Makes a client from its metadata (RFC 7591 §2, OIDC Registration §2), with the defaults filled in and the secret
 * hashed. `client_secret` may be text or hold it behind `reveal()`. Without `scope` a client may ask for all of
 * `scopesSupported`; without `security_profile` it has the deployment's. It reports all problems at once and throws
 * nothing.
 */
export const parseClientMetadata = (
  metadata: unknown,
  scopesSupported: readonly string[],
  securityProfile: SecurityProfile = 'oauth2',
): ClientParse => {
  const result = metadataSchema.safeParse(metadata, { error: explainProblem })
  if (result.success) {
    const client = toClient(result.data, scopesSupported, securityProfile)
    const problems = [...findContradictions(withoutUndefined(result.data)), ...findProfileFaults(client)]
    if (problems.length > 0) return { problems, warnings: [] }
    return { client, problems: [], warnings: findAdvice(result.data) }
  }
  const problems = result.error.issues.flatMap((issue): MetadataProblem[] =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((name) => ({ path: formatPath([...(issue.path as Path), name]), message: explainUnknown(name) }))
      : [{ path: formatPath(issue.path as Path), message: issue.message }],
  )
  return { problems: [...problems, ...findContradictions(understood(metadata))], warnings: [] }
}

/** Returns the members that are valid on their own. */
const understood = (metadata: unknown): Partial<Metadata> => {
  if (typeof metadata !== 'object' || metadata === null) return {}
  const given = metadata as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(metadataSchema.shape).flatMap(([name, schema]): [string, unknown][] => {
      const member = schema.safeParse(given[name])
      // An invalid member is still present, so nothing is reported about its absence.
      if (!member.success) return given[name] === undefined ? [] : [[name, undefined]]
      return member.data === undefined ? [] : [[name, member.data]]
    }),
  )
}
