import { addressBucket } from '../address-bucket.js'
import type { Clock } from '../clock.js'
import type { AdminEndpoint, Permission } from '../endpoints/admin/admin-endpoint.js'
import type { Handler } from '../endpoints/message.js'
import { MinuteMap } from '../limits/minute-map.js'
import { OAuthError } from '../oauth/errors.js'
import { createBearer } from './bearer.js'
import type { Route } from './route.js'

/** Lets a request pass to its endpoint, or throws `OAuthError`. */
export type Guard = (endpoint: Handler) => Handler

export interface AdminCredentials {
  /**
   * The token that requests must carry as `Authorization: Bearer` (RFC 6750 §2.1). It may be absent when the listener
   * is on loopback or a unix socket, for programs of that host.
   */
  readonly token?: string | undefined
  /** Admits the callers that may answer hand-offs. If it is absent, they need what all other callers need. */
  readonly handoffGuard?: Guard
}

/** The route table of the admin listener. Each endpoint is behind its limit and the guard of its permission. */
export const adminRoutes = (
  endpoints: readonly AdminEndpoint[],
  { token, handoffGuard }: AdminCredentials,
  clock: Clock,
): readonly Route[] => {
  const guard = token === undefined ? refuseWebsites : createGuard(token)
  const guards: Readonly<Record<Permission, Guard>> = {
    none: (endpoint) => endpoint,
    'service.read': guard,
    'configuration.reload': guard,
    'handoff.answer': handoffGuard ?? guard,
  }
  return endpoints.map(({ path, methods, body, permission, limit, answer }): Route => {
    const limited = limit === 'none' ? answer : createLimit(limit, clock)(answer)
    const isRead = methods[0] === 'GET'
    return { path, methods, body, answer: guards[permission](isRead ? limited : refusePages(limited)) }
  })
}

/** The number of addresses that are counted in one minute. */
const maxAddresses = 1000

/** The limit is counted in this process alone, because the listener must answer while the stores are down. */
const createLimit = (perMinute: number, clock: Clock): Guard => {
  const counts = new MinuteMap<number>(maxAddresses)
  return (endpoint) => (request) => {
    const now = clock()
    counts.enter(Math.floor(now / 60_000))
    const address = addressBucket(request.address) ?? request.address
    const count = (counts.get(address) ?? 0) + 1
    if (count <= perMinute && counts.set(address, count)) return endpoint(request)
    throw new OAuthError('access_denied', 'Too many requests. Try again in a minute.', {
      status: 429,
      headers: { 'Retry-After': String(60 - (Math.floor(now / 1000) % 60)) },
    })
  }
}

/** A page of any site can post a form to loopback, but its browser says where the request comes from (Fetch §3.2). */
const refusePages: Guard = (endpoint) => (request) => {
  if (request.header('origin') === undefined) return endpoint(request)
  throw new OAuthError('access_denied', 'Requests from web pages are not accepted here.', { status: 403 })
}

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * A website can point its own name to 127.0.0.1 and then read the answers as its own (DNS rebinding), but its browser
 * sends that name as `Host`. Any other request of a page has a `Sec-Fetch-Site` (Fetch Metadata §2.3); `none` is a
 * person who typed the address. No page can reach a unix socket. Only HTTP/1.0, which no browser uses, has no `Host`.
 */
const refuseWebsites: Guard = (endpoint) => (request) => {
  if (request.address === 'unix') return endpoint(request)
  const isLocal = loopbackHost.test(request.header('host') ?? 'localhost')
  if (isLocal && (request.header('sec-fetch-site') ?? 'none') === 'none') return endpoint(request)
  throw new OAuthError(
    'access_denied',
    'Without admin.token only programs on the same host may ask. Use 127.0.0.1, or set admin.token.',
    { status: 403 },
  )
}

const createGuard = (token: string): Guard => {
  const isBearer = createBearer(token)
  return (endpoint) => (request) => {
    if (isBearer(request)) return endpoint(request)
    throw new OAuthError('invalid_token', 'The admin token is missing or wrong.', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  }
}
