import type { JsonObject, JsonValue } from '../../json.js'
import { findAlgorithm } from '../../jose/algorithms.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { MetadataProblem } from '../clients/metadata-rules.js'
import type { SecurityProfile } from '../clients/client.js'

/** What a client that registers itself may request, and the defaults that it gets. */
export interface RegistrationPolicy {
  readonly grantTypes: readonly string[]
  /**
   * If both `client_secret_basic` and `client_secret_post` are allowed, a client that names no method may use both.
   * Otherwise it gets `client_secret_basic` if that is allowed, else the first.
   */
  readonly authMethods: readonly string[]
  /** The allowed scopes; a client that names none gets all of them. */
  readonly scopes: readonly string[]
  /** The allowed audiences; a client that names none gets all of them. */
  readonly audiences: readonly string[]
  readonly signingAlgs: readonly JwsAlg[]
  readonly detailsTypes: readonly string[]
  /** The profile of every client that registers. */
  readonly securityProfile: SecurityProfile
  readonly requireStatement: boolean
}

const algMembers = [
  'id_token_signed_response_alg',
  'userinfo_signed_response_alg',
  'introspection_signed_response_alg',
  'authorization_signed_response_alg',
  'request_object_signing_alg',
  'token_endpoint_auth_signing_alg',
] as const

const beyond = 'is more than clients may register here'

/** Names a value among several: `scope[2]` is the third name of the scope. */
const placed = (path: string, asked: readonly string[], places: readonly number[]): string =>
  asked.length === 1 ? path : places.map((at) => `${path}[${String(at)}]`).join(', ')

const textsIn = (value: JsonValue | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []

/**
 * Finds metadata that exceeds the policy. Values that are not valid metadata, such as a number for a scope, are
 * ignored here. Requested values are not repeated: their positions are numbered from 0. `own`: audiences that the
 * client already has.
 */
export const findBeyondPolicy = (
  metadata: JsonObject,
  policy: RegistrationPolicy,
  own: readonly string[] = [],
): readonly MetadataProblem[] => {
  const problems: MetadataProblem[] = []
  const check = (path: string, asked: readonly string[], allowed: readonly string[]): void => {
    const permitted = new Set(allowed)
    const places = asked.flatMap((name, at) => (permitted.has(name) ? [] : [at]))
    if (places.length > 0) problems.push({ path: placed(path, asked, places), message: beyond })
  }
  const { scope, token_endpoint_auth_method: method, security_profile: profile } = metadata
  check('grant_types', textsIn(metadata['grant_types']), policy.grantTypes)
  if (typeof method === 'string') check('token_endpoint_auth_method', [method], policy.authMethods)
  if (typeof scope === 'string') check('scope', scope.split(' ').filter(Boolean), policy.scopes)
  check('allowed_audiences', textsIn(metadata['allowed_audiences']), [...policy.audiences, ...own])
  check('authorization_details_types', textsIn(metadata['authorization_details_types']), policy.detailsTypes)
  for (const member of algMembers) {
    const alg = findAlgorithm(metadata[member])
    // An unsupported algorithm is refused elsewhere, as unsupported.
    if (alg !== undefined) check(member, [alg], policy.signingAlgs)
  }
  if (profile !== undefined && profile !== policy.securityProfile)
    problems.push({ path: 'security_profile', message: 'is not for the client to choose' })
  return problems
}
