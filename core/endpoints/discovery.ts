import { createHash } from 'node:crypto'
import { understoodAlgorithms } from '../jose/algorithms.js'
import type { JwsAlg } from '../jose/jwk.js'
import { deviceCodeGrant } from '../oauth/device-code.js'
import { standardClaims } from '../tokens/claims.js'
import type { Endpoint } from './message.js'

export interface DiscoveryOptions {
  readonly issuer: string
  readonly scopes: readonly string[]
  /** Beside the standard ones. */
  readonly claims: readonly string[]
  readonly responseTypes: readonly string[]
  readonly grantTypes: readonly string[]
  /** Is `/userinfo` served? */
  readonly userinfo: boolean
  readonly clientAuthMethods: readonly string[]
  /** Absent: DPoP is not available. */
  readonly dpopAlgs?: readonly string[] | undefined
  readonly idTokenAlgs: () => readonly JwsAlg[]
  readonly userinfoAlgs: () => readonly JwsAlg[]
  readonly introspectionAlgs: () => readonly JwsAlg[]
}

/** Of every id_token. */
const ofTheCore = ['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'acr', 'amr', 'sid']

const metadata = (options: DiscoveryOptions) => {
  const { issuer } = options
  const interactive = options.grantTypes.includes('authorization_code')
  return {
    issuer,
    ...(interactive && {
      authorization_endpoint: `${issuer}/authorize`,
    }),
    ...(options.userinfo && { userinfo_endpoint: `${issuer}/userinfo` }),
    token_endpoint: `${issuer}/token`,
    ...(options.grantTypes.includes(deviceCodeGrant) && {
      device_authorization_endpoint: `${issuer}/device_authorization`,
    }),
    jwks_uri: `${issuer}/jwks.json`,
    scopes_supported: options.scopes,
    response_types_supported: interactive ? options.responseTypes : [],
    response_modes_supported: interactive ? ['query', 'form_post'] : [],
    grant_types_supported: options.grantTypes,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: options.idTokenAlgs(),
    userinfo_signing_alg_values_supported: options.userinfoAlgs(),
    token_endpoint_auth_methods_supported: options.clientAuthMethods,
    introspection_endpoint: `${issuer}/introspect`,
    introspection_endpoint_auth_methods_supported: options.clientAuthMethods.filter((method) => method !== 'none'),
    introspection_signing_alg_values_supported: options.introspectionAlgs(),
    revocation_endpoint: `${issuer}/revoke`,
    revocation_endpoint_auth_methods_supported: options.clientAuthMethods,
    // RFC 8414 §2: required beside this method.
    ...(options.clientAuthMethods.includes('private_key_jwt') && {
      token_endpoint_auth_signing_alg_values_supported: understoodAlgorithms,
      introspection_endpoint_auth_signing_alg_values_supported: understoodAlgorithms,
      revocation_endpoint_auth_signing_alg_values_supported: understoodAlgorithms,
    }),
    ...(options.dpopAlgs && { dpop_signing_alg_values_supported: options.dpopAlgs }),
    ...(interactive && {
      code_challenge_methods_supported: ['S256'],
      prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
      display_values_supported: ['page', 'popup', 'touch', 'wap'],
      claims_parameter_supported: true,
      authorization_response_iss_parameter_supported: true,
    }),
    ...(options.userinfo && {
      claim_types_supported: ['normal'],
      claims_supported: [...new Set([...ofTheCore, ...standardClaims, ...options.claims])],
    }),
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  }
}

/**
 * The discovery document (OIDC Discovery §3, RFC 8414 §2), in both its places: derived from what is loaded. The bytes
 * are kept until the algorithms change, which they do by clock.
 */
export const createDiscovery = (options: DiscoveryOptions): Endpoint => {
  let of = ''
  let body = Buffer.alloc(0)
  let headers: Readonly<Record<string, string>> = {}
  return (request) => {
    const algs = [options.idTokenAlgs(), options.userinfoAlgs(), options.introspectionAlgs()].join(' ')
    if (algs !== of) {
      body = Buffer.from(JSON.stringify(metadata(options)))
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
