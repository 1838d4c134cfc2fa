import { readBasic, type BasicCredentials, type TokenRequest } from '../oauth/client-authenticator.js'
import { OAuthError } from '../oauth/errors.js'
import { checkNoneRepeated } from '../oauth/params.js'
import type { EndpointRequest } from './message.js'

/**
 * The parameters of a form that a client posts (RFC 6749 §3.2). Throws `invalid_request` for a query, and for a parameter
 * that came twice unless it is one of `repeatable`.
 */
export const readClientForm = (
  { query, form }: EndpointRequest,
  ...repeatable: readonly string[]
): ReadonlyMap<string, string> => {
  if (query.values.size > 0) throw new OAuthError('invalid_request', 'Parameters belong in the body of the request.')
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
