import type { Endpoint } from '../endpoints/endpoint.js'
import type { Route } from './route.js'

/**
 * The route table of the public listener. `issuer` is the only source of every path: all of them lie under its own
 * (docs/design/decisions.md#1-names-and-defaults).
 */
export const routes = (issuer: string, endpoints: readonly Endpoint[]): readonly Route[] => {
  const base = new URL(issuer).pathname.replace(/\/$/, '')
  return endpoints.flatMap((endpoint) => pathsOf(base, endpoint.path).map((path) => ({ ...endpoint, path })))
}

const pathsOf = (base: string, path: string): readonly string[] => {
  if (base === '') return [path]
  if (path === '/') return [base, `${base}/`]
  // Appended as OpenID Connect Discovery §4.1 has it, and inserted as RFC 8414 §3.1 has it.
  return path.startsWith('/.well-known/') ? [`${base}${path}`, `${path}${base}`] : [`${base}${path}`]
}
