import { createHash } from 'node:crypto'
import type { JwsAlg } from '../jose/jwk.js'
import type { JsonObject } from '../json.js'
import type { Declaration } from './endpoint.js'
import type { Handler } from './message.js'
import { encryptionOf, type Supported } from './supported.js'

const document = {
  methods: ['GET'],
  body: 'none',
  cors: true,
  fromMemory: true,
  limit: { byAddress: 'documents', byRefusals: false },
} as const

/** OIDC Discovery §4. */
export const openidConfiguration = {
  path: '/.well-known/openid-configuration',
  ...document,
} as const satisfies Declaration

/** RFC 8414 §3. */
export const authorizationServerMetadata = {
  path: '/.well-known/oauth-authorization-server',
  ...document,
} as const satisfies Declaration

/**
 * Members that apply to the deployment whichever endpoints it serves. Members declared by endpoints take precedence.
 */
const general = (supported: Supported): JsonObject => ({
  issuer: supported.issuer,
  scopes_supported: supported.scopes,
  response_types_supported: [],
  response_modes_supported: [],
  grant_types_supported: supported.grantTypes,
  subject_types_supported: supported.subjectTypes,
  id_token_signing_alg_values_supported: supported.idTokenAlgs(),
  userinfo_signing_alg_values_supported: supported.userinfoAlgs(),
  ...encryptionOf('id_token'),
  ...encryptionOf('userinfo'),
  ...(supported.dpopAlgs && { dpop_signing_alg_values_supported: supported.dpopAlgs }),
  request_parameter_supported: false,
  request_object_signing_alg_values_supported: [],
  request_uri_parameter_supported: false,
})

/** Endpoints for machines, below the host that asks for certificates (RFC 8705 §5). */
const aliases = (served: readonly Declaration[], supported: Supported): JsonObject => {
  const { issuer, mtls } = supported
  if (mtls === undefined) return {}
  const bound = { tls_client_certificate_bound_access_tokens: supported.grantTypes.length > 0 }
  const { alias } = mtls
  if (alias === undefined) return bound
  const members = served
    .filter(({ errorTitle }) => errorTitle === undefined)
    .flatMap(({ discovery }) => Object.entries(discovery?.(supported) ?? {}))
    .flatMap(([name, url]) =>
      name.endsWith('_endpoint') && typeof url === 'string' ? [[name, `${alias}${url.slice(issuer.length)}`]] : [],
    )
  return { ...bound, mtls_endpoint_aliases: Object.fromEntries(members) as JsonObject }
}

/**
 * The discovery document (OIDC Discovery §3, RFC 8414 §2) at both locations, derived from what is loaded and what the
 * endpoints in `served` declare. The bytes are kept until the algorithms change, which they do by the clock.
 */
export const createDiscovery = (served: readonly Declaration[], supported: Supported): Handler => {
  let of: readonly (readonly JwsAlg[])[] = []
  let body = Buffer.alloc(0)
  let headers: Readonly<Record<string, string>> = {}
  return (request) => {
    const { idTokenAlgs, userinfoAlgs, introspectionAlgs, responseAlgs } = supported
    const algs = [idTokenAlgs(), userinfoAlgs(), introspectionAlgs(), responseAlgs()]
    if (algs.some((list, index) => list !== of[index])) {
      const declared = served.map(({ discovery }) => discovery?.(supported))
      body = Buffer.from(JSON.stringify(Object.assign(general(supported), ...declared, aliases(served, supported))))
      const etag = `"${createHash('sha256').update(body).digest('base64url')}"`
      headers = {
        'Content-Type': 'application/json; charset=utf-8',
        'Cache-Control': 'public, max-age=3600',
        ETag: etag,
      }
      of = algs
    }
    return request.header('if-none-match') === headers['ETag']
      ? { status: 304, headers }
      : { status: 200, headers, body }
  }
}
