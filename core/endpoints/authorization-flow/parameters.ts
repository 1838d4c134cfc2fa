import { OAuthError } from '../../oauth/errors.js'
import type { ParameterList } from '../../oauth/requests/params.js'
import type { EndpointRequest } from '../message.js'

/**
 * The parameters of a request: those of a POST body, otherwise those of the query. Throws `invalid_request` when a
 * POST has one name in both, because it is unclear which one counts (RFC 6749 §3.1).
 */
export const getParameters = ({ method, query, form }: EndpointRequest): ParameterList => {
  if (method !== 'POST') return query
  for (const name of form.values.keys())
    if (query.values.has(name))
      throw new OAuthError('invalid_request', 'A parameter was sent in the query and in the body.')
  return form
}
