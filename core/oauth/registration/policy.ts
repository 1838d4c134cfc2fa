import type { JsonObject, JsonValue } from '../../json.js'
import { findAlgorithm } from '../../jose/algorithms.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { MetadataProblem } from '../clients/metadata-rules.js'
import type { SecurityProfile } from '../clients/client.js'

/** What a client that registers itself may ask for, and what it gets when it does not ask. */
export interface RegistrationPolicy {
  readonly grantTypes: readonly string[]
  /**
   * With `client_secret_basic` and `client_secret_post`, a client that names none may use both; with one of them
   * `client_secret_basic` if it is there, else the first.
   */
  readonly authMethods: readonly string[]
  /** Those of a client that names none. */
  readonly scopes: readonly string[]
  /** Those of a client that names none. */
  readonly audiences: readonly string[]
  readonly signingAlgs: readonly JwsAlg[]
  readonly detailsTypes: readonly string[]
  /** Of every client. */
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

/** Which of several: `scope[2]` is the third name of the scope. */
const placed = (path: string, asked: readonly string[], places: readonly number[]): string =>
  asked.length === 1 ? path : places.map((at) => `${path}[${String(at)}]`).join(', ')

const textsIn = (value: JsonValue | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []

/**
 * What of the metadata is more than the policy allows. Of what is no metadata at all, such as a number for a scope, nothing is
 * said here. What was asked for is not repeated: its places are numbered from 0. `own`: audiences that the client has already.
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
    // What is no algorithm of ours is refused as that.
    if (alg !== undefined) check(member, [alg], policy.signingAlgs)
  }
  if (profile !== undefined && profile !== policy.securityProfile)
    problems.push({ path: 'security_profile', message: 'is not for the client to choose' })
  return problems
}
