import type { TokenRequest } from '../oauth/client-authenticator.js'
import type { EndpointRequest } from './message.js'

/** What client authentication sees of a request: its parameters once they are known to come once, headers, and where from. */
export const tokenRequestOf = (http: EndpointRequest, params: ReadonlyMap<string, string>): TokenRequest => ({
  params,
  header: (name) => http.header(name),
  address: http.address,
})
