import { addressBucket } from '../address-bucket.js'
import type { Clock } from '../clock.js'
import type { AdminEndpoint, OperatorHandler } from '../endpoints/admin/admin-endpoint.js'
import type { EndpointRequest, Handler } from '../endpoints/message.js'
import { OAuthError } from '../oauth/errors.js'
import { isLocalProgram } from '../operators/authenticate.js'
import { createBearer } from './bearer.js'
import { createMinuteLimit } from './minute-limit.js'
import type { OperatorGuard } from './operator-guard.js'
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
  /**
   * Admits operators. If it is absent, the process has no stores: what needs an operator is forwarded to one that has
   * them, or refused.
   */
  readonly operatorGuard?: OperatorGuard
}

/**
 * The route table of the admin listener. Each endpoint is behind its limit and the guard of its permission. `basePath`
 * is the path of `admin.base_url`, below which a proxy may pass requests on.
 */
export const adminRoutes = (
  endpoints: readonly AdminEndpoint[],
  credentials: AdminCredentials,
  clock: Clock,
  basePath = '',
): readonly Route[] => {
  const guarded = guardOf(credentials)
  const byPath = new Map<string, AdminEndpoint[]>()
  for (const endpoint of endpoints) byPath.set(endpoint.path, [...(byPath.get(endpoint.path) ?? []), endpoint])
  return [...byPath].flatMap(([path, rows]) => {
    const route = routeOf(rows, (endpoint) => limitedTo(endpoint, guarded(endpoint), clock))
    return basePath === '' ? [{ ...route, path }] : [path, `${basePath}${path}`].map((at) => ({ ...route, path: at }))
  })
}

/** One row for the endpoints of a path, which differ in their methods. */
const routeOf = (rows: readonly AdminEndpoint[], answering: (endpoint: AdminEndpoint) => Handler): Route => {
  const answers = new Map(rows.map((endpoint) => [endpoint.methods[0] as string, answering(endpoint)]))
  const [first] = rows as [AdminEndpoint]
  const body = rows.find((endpoint) => endpoint.body !== 'none')?.body ?? 'none'
  const answer: Handler = (request) => (answers.get(request.method) ?? refuse)(request)
  const { path, problems, encodedIds, errorTitle } = first
  return {
    ...{ path, methods: rows.map(({ methods }) => methods[0]), body, answer },
    ...(problems && { problems }),
    ...(encodedIds && { encodedIds }),
    ...(errorTitle && { errorTitle }),
  }
}

/** The dispatcher has compared the method with those of the row. */
const refuse = (): never => {
  throw new Error('the method has no endpoint')
}

/** Returns each endpoint behind the guard of its permission. */
const guardOf = (credentials: AdminCredentials): ((endpoint: AdminEndpoint) => Handler) => {
  const { token, handoffGuard, operatorGuard } = credentials
  const isAdmitted = token === undefined ? isOnHost : createBearer(token)
  const refused = token === undefined ? refuseWebsite : refuseToken
  /** Programs on the host, and those with `admin.token`, may call what the process itself answers. */
  const ownGuard =
    (otherwise: Handler): Guard =>
    (endpoint) =>
    (request) =>
      (isAdmitted(request) ? endpoint : otherwise)(request)
  const asOperator = (endpoint: AdminEndpoint, answer: OperatorHandler): Handler =>
    endpoint.permission === 'none' || endpoint.permission === 'handoff.answer' || operatorGuard === undefined
      ? (request) => answer(request)
      : operatorGuard({ ...endpoint, permission: endpoint.permission }, answer)

  return (endpoint) => {
    const { permission, methods } = endpoint
    // Pages and the API are called by browsers, too; their guard tells forms of other sites by their tokens.
    const isOwn = permission === 'service.read' || permission === 'configuration.reload'
    const own: OperatorHandler = methods[0] === 'GET' ? endpoint.answer : refusePages(endpoint.answer)
    // Pages of the console are posted by browsers, and check where a form comes from.
    if (permission === 'none') return (request) => (endpoint.errorTitle ? endpoint.answer : own)(request)
    if (permission === 'handoff.answer') return (handoffGuard ?? ownGuard(refused))((request) => own(request))
    if (!isOwn || endpoint.problems || endpoint.errorTitle) return asOperator(endpoint, endpoint.answer)
    return ownGuard(operatorGuard === undefined ? refused : asOperator(endpoint, own))((request) => own(request))
  }
}

const limitedTo = ({ limit }: AdminEndpoint, answer: Handler, clock: Clock): Handler => {
  if (limit === 'none') return answer
  const count = createMinuteLimit(limit, clock)
  return (request) => {
    count(addressBucket(request.address) ?? request.address)
    return answer(request)
  }
}

/** A page of any site can post a form to loopback, but its browser says where the request comes from (Fetch §3.2). */
const refusePages =
  (endpoint: OperatorHandler): OperatorHandler =>
  (request, operator) => {
    if (request.header('origin') === undefined) return endpoint(request, operator)
    throw new OAuthError('access_denied', 'Requests from web pages are not accepted here.', { status: 403 })
  }

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * A website can point its own name to 127.0.0.1 and then read the answers as its own (DNS rebinding), but its browser
 * sends that name as `Host`. Any other request of a page has a `Sec-Fetch-Site` (Fetch Metadata §2.3); `none` is a
 * person who typed the address. No page can reach a unix socket, unless a proxy passes its requests on. Only HTTP/1.0, which no browser uses, has no `Host`.
 */
const isOnHost = (request: EndpointRequest): boolean => {
  if (request.address === 'unix') return isLocalProgram(request)
  const isLocal = loopbackHost.test(request.header('host') ?? 'localhost')
  return isLocal && (request.header('sec-fetch-site') ?? 'none') === 'none'
}

const refuseWebsite: Handler = () => {
  throw new OAuthError(
    'access_denied',
    'Without admin.token only programs on the same host may ask. Use 127.0.0.1, or set admin.token.',
    { status: 403 },
  )
}

const refuseToken: Handler = () => {
  throw new OAuthError('invalid_token', 'The admin token is missing or wrong.', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  })
}
