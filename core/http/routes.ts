import type { Endpoint } from '../endpoints/endpoint.js'
import type { Route } from './route.js'

/**
 * The route table of the public listener. `issuer` is the only source of every path, and all of them lie below it
 * (docs/design/decisions.md#1-names-and-defaults).
 */
export const routes = (issuer: string, endpoints: readonly Endpoint[]): readonly Route[] => {
  const base = new URL(issuer).pathname.replace(/\/$/, '')
  return endpoints.flatMap((endpoint) => pathsOf(base, endpoint.path).map((path) => ({ ...endpoint, path })))
}

const pathsOf = (base: string, path: string): readonly string[] => {
  if (base === '') return [path]
  if (path === '/') return [base, `${base}/`]
  // The path is appended as in OpenID Connect Discovery §4.1, and inserted as in RFC 8414 §3.1.
  return path.startsWith('/.well-known/') ? [`${base}${path}`, `${path}${base}`] : [`${base}${path}`]
}
