import { readBasic, type BasicCredentials, type TokenRequest } from '../oauth/clients/client-authenticator.js'
import { OAuthError } from '../oauth/errors.js'
import { checkNoneRepeated } from '../oauth/requests/params.js'
import type { EndpointRequest } from './message.js'

/** Parameters of client authentication (RFC 6749 §2.3.1, RFC 7521 §4.2), at every endpoint. */
const authentication = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type']

/** The form parameters that an endpoint reads: `own`, and those of client authentication. */
export const formParameters = (...own: readonly string[]): ReadonlySet<string> => new Set([...authentication, ...own])

/**
 * The parameters of a client's form (RFC 6749 §3.2). `known` are those that the endpoint reads. Throws
 * `invalid_request` when one of them is in the query, where other names are ignored, and for a repeated parameter
 * that is not in `repeatable`.
 */
export const readClientForm = (
  { query, form }: EndpointRequest,
  known: ReadonlySet<string>,
  ...repeatable: readonly string[]
): ReadonlyMap<string, string> => {
  for (const name of query.values.keys())
    if (known.has(name)) throw new OAuthError('invalid_request', 'Parameters belong in the body of the request.')
  return checkNoneRepeated(form, ...repeatable)
}

/** The parts of a request for client authentication: parameters, checked for repetition, headers, and origin. */
export const tokenRequestOf = (
  http: EndpointRequest,
  params: ReadonlyMap<string, string>,
  path: string,
): TokenRequest => {
  let basic: BasicCredentials | undefined
  return {
    params,
    method: http.method,
    path,
    basicCredentials: () => (basic ??= readBasic(http.header('authorization'))),
    header: (name) => http.header(name),
    // Always read, because an invalid header must not pass for an absent one.
    clientCertificate: http.clientCertificate(),
    address: http.address,
  }
}
