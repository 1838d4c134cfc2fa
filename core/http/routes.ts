import type { Endpoint } from '../endpoints/message.js'
import type { Route } from './route.js'

/** What the public listener serves. */
export interface Endpoints {
  readonly discovery: Endpoint
  readonly keySet: Endpoint
  readonly token: Endpoint
  readonly introspect: Endpoint
  readonly revoke: Endpoint
  /** GET of `/`. */
  readonly home: Endpoint
  /** GET of `/assets/{name}`. */
  readonly asset: Endpoint
  /** Absent without the grant of devices. */
  readonly device?: {
    /** POST of `/device_authorization`. */
    readonly authorization: Endpoint
    /** GET of `/device`. */
    readonly page: Endpoint
    /** POST of `/device/verify`. */
    readonly verify: Endpoint
  }
  /** Absent without the section `attestation`. */
  readonly attestation?:
    | {
        /** POST of `/enrol`. */
        readonly enrol: Endpoint
        /** POST of `/enrol/complete`. */
        readonly complete: Endpoint
        /** POST of `/reissue`. */
        readonly reissue: Endpoint
        /** POST of `/challenge`. */
        readonly challenge: Endpoint
      }
    | undefined
  /** Absent where nobody signs in. */
  readonly interactive?: {
    readonly authorize: Endpoint
    readonly userinfo: Endpoint
    /** GET and POST of `/interaction/{id}/login`. */
    readonly login: Endpoint
    /** GET and POST of `/interaction/{id}/consent`. */
    readonly consent: Endpoint
  }
}

/** The flow of devices (RFC 8628). */
const deviceRoutes = (base: string, { authorization, page, verify }: NonNullable<Endpoints['device']>): Route[] => [
  {
    path: `${base}/device_authorization`,
    methods: ['POST'],
    body: 'form',
    cors: 'public-client',
    endpoint: authorization,
  },
  { path: `${base}/device`, methods: ['GET'], body: 'none', errorTitle: 'Device error', endpoint: page },
  {
    path: `${base}/device/verify`,
    methods: ['POST'],
    body: 'page-form',
    errorTitle: 'Device error',
    endpoint: verify,
  },
]

/** The ceremony of attestation. No other origin may read an answer, and no cookie means anything here. */
const attestationRoutes = (base: string, endpoints: NonNullable<Endpoints['attestation']>): Route[] => {
  const post = { methods: ['POST'], body: 'json' } as const
  return [
    { path: `${base}/enrol`, ...post, endpoint: endpoints.enrol },
    { path: `${base}/enrol/complete`, ...post, endpoint: endpoints.complete },
    { path: `${base}/reissue`, ...post, endpoint: endpoints.reissue },
    { path: `${base}/challenge`, ...post, endpoint: endpoints.challenge },
  ]
}

const wellKnown = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']

/**
 * The one route table. `issuer` is the only source of every path: all of them lie under its own
 * (docs/design/decisions.md#1-names-and-defaults).
 */
export const routes = (issuer: string, endpoints: Endpoints): readonly Route[] => {
  const base = new URL(issuer).pathname.replace(/\/$/, '')
  const { discovery, keySet, token, introspect, revoke, home, asset, interactive } = endpoints
  const get = { methods: ['GET'], body: 'none' } as const
  const page = { methods: ['GET', 'POST'], body: 'page-form' } as const
  const form = { body: 'form', cors: 'public-client' } as const

  const table: Route[] = [
    ...discoveryPaths(base).map(
      (path) => ({ path, ...get, cors: 'any', fromMemory: true, endpoint: discovery }) as const,
    ),
    { path: `${base}/jwks.json`, ...get, cors: 'any', fromMemory: true, endpoint: keySet },
    { path: `${base}/token`, methods: ['POST'], ...form, endpoint: token },
    { path: `${base}/introspect`, methods: ['POST'], body: 'form', endpoint: introspect },
    { path: `${base}/revoke`, methods: ['POST'], ...form, endpoint: revoke },
    ...homePaths(base).map((path) => ({ path, ...get, errorTitle: 'Error', endpoint: home })),
    { path: `${base}/assets/{name}`, ...get, endpoint: asset },
  ]
  if (endpoints.device !== undefined) table.push(...deviceRoutes(base, endpoints.device))
  if (endpoints.attestation !== undefined) table.push(...attestationRoutes(base, endpoints.attestation))
  if (interactive === undefined) return table
  const { authorize, userinfo, login, consent } = interactive
  return [
    ...table,
    { path: `${base}/userinfo`, methods: ['GET', 'POST'], ...form, endpoint: userinfo },
    { path: `${base}/authorize`, ...page, errorTitle: 'Authorization error', endpoint: authorize },
    { path: `${base}/interaction/{id}/login`, ...page, errorTitle: 'Sign-in error', endpoint: login },
    { path: `${base}/interaction/{id}/consent`, ...page, errorTitle: 'Sign-in error', endpoint: consent },
  ]
}

const homePaths = (base: string): readonly string[] => (base === '' ? ['/'] : [base, `${base}/`])

/** Appended as OpenID Connect Discovery §4.1 has it, and inserted as RFC 8414 §3.1 has it. */
const discoveryPaths = (base: string): readonly string[] =>
  base === '' ? wellKnown : wellKnown.flatMap((path) => [`${base}${path}`, `${path}${base}`])
