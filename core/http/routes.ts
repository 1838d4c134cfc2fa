import type { Endpoint } from '../endpoints/message.js'
import type { Route } from './route.js'

/** What the public listener serves. */
export interface Endpoints {
  readonly discovery: Endpoint
  readonly keySet: Endpoint
  readonly authorize: Endpoint
  readonly token: Endpoint
  readonly userinfo: Endpoint
  /** GET and POST of `/interaction/{id}/login`. */
  readonly login: Endpoint
  /** GET and POST of `/interaction/{id}/consent`. */
  readonly consent: Endpoint
  /** GET of `/interaction/{id}/resume`: back into the authorization when the pages are done. */
  readonly resume?: Endpoint
  /** GET of `/`. */
  readonly home?: Endpoint
  /** GET of `/assets/{name}`. */
  readonly asset?: Endpoint
}

const wellKnown = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']

/** The one route table. `issuer` is the only source of every path: all of them lie under its own (decisions section 1). */
export const routes = (issuer: string, endpoints: Endpoints): readonly Route[] => {
  const base = new URL(issuer).pathname.replace(/\/$/, '')
  const { discovery, keySet, authorize, token, userinfo, login, consent, resume, home, asset } = endpoints
  const interaction = { body: 'page-form', errorTitle: 'Sign-in error' } as const
  const get = { methods: ['GET'], body: 'none' } as const

  const table: Route[] = [
    ...discoveryPaths(base).map((path) => ({ path, ...get, cors: 'any', endpoint: discovery }) as const),
    { path: `${base}/jwks.json`, ...get, cors: 'any', endpoint: keySet },
    { path: `${base}/token`, methods: ['POST'], body: 'form', cors: 'public-client', endpoint: token },
    { path: `${base}/userinfo`, methods: ['GET', 'POST'], body: 'form', cors: 'public-client', endpoint: userinfo },
    {
      path: `${base}/authorize`,
      methods: ['GET', 'POST'],
      body: 'page-form',
      errorTitle: 'Authorization error',
      endpoint: authorize,
    },
    { path: `${base}/interaction/{id}/login`, methods: ['GET', 'POST'], ...interaction, endpoint: login },
    { path: `${base}/interaction/{id}/consent`, methods: ['GET', 'POST'], ...interaction, endpoint: consent },
  ]
  if (resume !== undefined) {
    table.push({ path: `${base}/interaction/{id}/resume`, ...get, errorTitle: 'Sign-in error', endpoint: resume })
  }
  if (home !== undefined) {
    for (const path of base === '' ? ['/'] : [base, `${base}/`]) {
      table.push({ path, ...get, errorTitle: 'Error', endpoint: home })
    }
  }
  if (asset !== undefined) table.push({ path: `${base}/assets/{name}`, ...get, endpoint: asset })
  return table
}

/** Appended as OpenID Connect Discovery §4.1 has it, and inserted as RFC 8414 §3.1 has it. */
const discoveryPaths = (base: string): readonly string[] =>
  base === '' ? wellKnown : wellKnown.flatMap((path) => [`${base}${path}`, `${path}${base}`])
