import { cibaGrant } from '../ciba/request.js'
import { isImpersonable } from '../requests/redirect-uri.js'
import { findSubjectFault } from './client-certificate-subject.js'
import type { Metadata } from './client-metadata-schema.js'
import { findEncryptionFaults } from './encryption-metadata.js'
import { findRedirectUriFault } from './redirect-uri-registration.js'
import { findSectorFault } from './sector.js'

/**
 * One problem with a client's metadata. `path` is within the metadata: `redirect_uris[1]`. It contains no value of
 * the metadata.
 */
export interface MetadataProblem {
  readonly path: string
  readonly message: string
}

/** The members that were valid. An invalid one is present as undefined, so nothing is reported about its absence. */
type Given = Partial<Metadata>

type Rule = readonly [
  isBroken: (given: Given) => boolean | undefined,
  path: keyof Metadata,
  message: string | ((given: Given) => string),
]

/** The methods that use a key, and whether the client registers that key itself. */
const provesKey: ReadonlyMap<string | undefined, 'registered' | 'elsewhere'> = new Map([
  ['private_key_jwt', 'registered'],
  ['self_signed_tls_client_auth', 'registered'],
  ['tls_client_auth', 'elsewhere'],
  ['attest_jwt_client_auth', 'elsewhere'],
  ['attest_jwt_client_auth_dpop', 'elsewhere'],
])

const isPublic = ({ token_endpoint_auth_method: method }: Given): boolean => method === 'none'
const isPing = (given: Given): boolean => given.backchannel_token_delivery_mode === 'ping'
const methodOf = ({ token_endpoint_auth_method: method = '' }: Given): string => method

/** Rules about several members, in the order in which problems are reported. */
const rules: readonly Rule[] = [
  [
    ({ grant_types, redirect_uris }) => grant_types?.includes('authorization_code') && redirect_uris?.length === 0,
    'redirect_uris',
    'is required for the grant authorization_code',
  ],
  [
    ({ grant_types, response_types = [] }) =>
      grant_types?.includes('authorization_code') === false && response_types.length > 0,
    'response_types',
    'code needs the grant authorization_code (RFC 7591 §2.1)',
  ],
  [
    ({ grant_types, response_types }) => grant_types?.includes('authorization_code') && response_types?.length === 0,
    'response_types',
    'must hold code for the grant authorization_code (RFC 7591 §2.1)',
  ],
  [
    (given) => given.consent === 'implicit' && given.redirect_uris?.some((uri) => isImpersonable(given, uri)),
    'consent',
    'must not be implicit for a public client that is native or has a redirect URI on loopback (RFC 8252 §8.6)',
  ],
  [
    (given) => isPublic(given) && given.grant_types?.includes('client_credentials'),
    'grant_types',
    'client_credentials is for clients that authenticate (RFC 6749 §4.4)',
  ],
  [
    (given) => isPublic(given) && given.grant_types?.includes(cibaGrant),
    'grant_types',
    'CIBA is for clients that authenticate (OpenID CIBA Core §7.1)',
  ],
  [
    (given) => isPing(given) && !('backchannel_client_notification_endpoint' in given),
    'backchannel_client_notification_endpoint',
    'is required for backchannel_token_delivery_mode ping',
  ],
  [
    (given) => !isPing(given) && given.backchannel_client_notification_endpoint !== undefined,
    'backchannel_client_notification_endpoint',
    'is for backchannel_token_delivery_mode ping alone',
  ],
  [
    (given) => (isPublic(given) || provesKey.has(methodOf(given))) && given.client_secret !== undefined,
    'client_secret',
    (given) => `a client with token_endpoint_auth_method ${methodOf(given)} has no secret`,
  ],
  [
    (given) => methodOf(given) === 'client_secret_jwt',
    'token_endpoint_auth_method',
    'client_secret_jwt is symmetric and refused',
  ],
  [
    (given) =>
      methodOf(given).startsWith('client_secret_') &&
      methodOf(given) !== 'client_secret_jwt' &&
      !('client_secret' in given),
    'client_secret',
    (given) => `is required for token_endpoint_auth_method ${methodOf(given)}`,
  ],
  [
    (given) => !('token_endpoint_auth_method' in given) && !('client_secret' in given),
    'client_secret',
    'is required without a token_endpoint_auth_method',
  ],
  [(given) => 'jwks' in given && 'jwks_uri' in given, 'jwks_uri', 'must not be given together with jwks (RFC 7591 §2)'],
  [
    (given) => provesKey.get(methodOf(given)) === 'registered' && !('jwks' in given) && !('jwks_uri' in given),
    'jwks',
    (given) => `or jwks_uri is required for token_endpoint_auth_method ${methodOf(given)}`,
  ],
]

/** Finds problems of each single redirect URI, once `application_type` is known. */
const findRedirectUriFaults = (given: Given): readonly MetadataProblem[] => {
  const { application_type } = given
  if (application_type === undefined) return []
  return (['redirect_uris', 'post_logout_redirect_uris'] as const).flatMap((name) =>
    (given[name] ?? []).flatMap((uri, index) => {
      const message = typeof uri === 'string' ? findRedirectUriFault(uri, application_type) : undefined
      return message === undefined ? [] : [{ path: `${name}[${String(index)}]`, message }]
    }),
  )
}

/** Finds members that contradict each other. */
export const findContradictions = (given: Given): readonly MetadataProblem[] => [
  ...findRedirectUriFaults(given),
  ...rules
    .filter(([isBroken]) => isBroken(given))
    .map(([, path, message]) => ({ path, message: typeof message === 'string' ? message : message(given) })),
  ...findEncryptionFaults(given),
  ...[findSectorFault(given), findSubjectFault(given, given.token_endpoint_auth_method)].filter(
    (fault) => fault !== undefined,
  ),
]
