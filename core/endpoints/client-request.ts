import { readBasic, type BasicCredentials, type TokenRequest } from '../oauth/clients/client-authenticator.js'
import { OAuthError } from '../oauth/errors.js'
import { checkNoneRepeated } from '../oauth/requests/params.js'
import type { EndpointRequest } from './message.js'

/** What clients authenticate with (RFC 6749 §2.3.1, RFC 7521 §4.2), at every endpoint. */
const authentication = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type']

/** The names of the parameters that an endpoint reads from a form: `own`, and those of client authentication. */
export const formParameters = (...own: readonly string[]): ReadonlySet<string> => new Set([...authentication, ...own])

/**
 * The parameters of a form that a client posts (RFC 6749 §3.2). `known`: what the endpoint reads. Throws `invalid_request` where
 * one of these is in the query, whose other names mean nothing here, and for a parameter that came twice unless it is one of
 * `repeatable`.
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

/** What client authentication sees of a request: its parameters once they are known to come once, headers, and where from. */
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
    // Read in any case: a header that does not parse must not pass for none.
    clientCertificate: http.clientCertificate(),
    address: http.address,
  }
}
