import { json, type Handler } from '../endpoints/message.js'
import type { HandoffHandlers } from '../endpoints/sign-in/handoff-answer.js'
import { OAuthError } from '../oauth/errors.js'
import type { Readiness, ReadinessReport } from '../observe/health.js'
import type { Metrics } from '../observe/metrics.js'
import { createBearer } from './bearer.js'
import type { Route } from './route.js'

export interface AdminOptions {
  readonly readiness: Pick<Readiness, 'report'>
  readonly token?: string | undefined
  /** Lets those pass who may answer hand-offs. Absent: they are guarded as all else is. */
  readonly handoffGuard?: (endpoint: Handler) => Handler
  readonly reload?: Handler
  /** Takes answers of the organisation's own service, by what the last segment of the path says. */
  readonly handoffs?: HandoffHandlers | undefined
  readonly metrics?: Metrics
}

/**
 * The table of the admin listener, which is another port than the public one. With a `token` everything but `/health/live`, and
 * answers of hand-offs that have credentials of their own, wants it as `Authorization: Bearer`; without one the listener is on loopback or a unix socket, and
 * everything but `/health/live` is for programs of that host alone.
 */
export const adminRoutes = ({
  readiness,
  token,
  reload,
  metrics,
  handoffs,
  handoffGuard,
}: AdminOptions): readonly Route[] => {
  const guard = token === undefined ? refuseWebsites : createGuard(token)
  const answerGuard = handoffGuard ?? guard
  return [
    // Answers for as long as the event loop turns: no dependency is asked.
    { path: '/health/live', methods: ['GET'], body: 'none', answer: () => json(200, { status: 'live' }) },
    { path: '/health/ready', methods: ['GET'], body: 'none', answer: guard(() => readyReply(readiness.report())) },
    ...(metrics ? [{ path: '/metrics', methods: ['GET'], body: 'none', answer: guard(expose(metrics)) } as const] : []),
    ...(reload
      ? [{ path: '/reload', methods: ['POST'], body: 'form', answer: guard(refusePages(reload)) } as const]
      : []),
    ...Object.entries(handoffs ?? {}).map(([verb, answer]): Route => ({
      path: `/interactions/{id}/${verb}`,
      methods: ['POST'],
      body: 'json',
      answer: answerGuard(refusePages(answer)),
    })),
  ]
}

const expose =
  (metrics: Metrics): Handler =>
  async () => {
    const { type, text } = await metrics.expose()
    return { ...json(200, undefined, { 'Content-Type': type }), body: text }
  }

/** One line for each component, for people and `grep`. */
const readyReply = ({ ready, components }: ReadinessReport) => {
  const lines = Object.entries(components).map(([name, health]) => `${JSON.stringify(name)}:${JSON.stringify(health)}`)
  const status = ready ? 'ready' : 'not ready'
  return {
    ...json(ready ? 200 : 503, undefined),
    body: `{"status":"${status}","components":{\n${lines.join(',\n')}\n}}\n`,
  }
}

/** A page of any site can post a form to loopback; its browser says so (Fetch §3.2). */
const refusePages =
  (endpoint: Handler): Handler =>
  (request) => {
    if (request.header('origin') === undefined) return endpoint(request)
    throw new OAuthError('access_denied', 'Requests from web pages are not accepted here.', { status: 403 })
  }

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * A website can give its own name the address 127.0.0.1 and then read answers as its own (DNS rebinding): its browser
 * sends that name as `Host`. What else a page asks for has a `Sec-Fetch-Site` (Fetch Metadata §2.3); `none` is a person
 * who typed the address. No page reaches a unix socket. Only HTTP/1.0, which no browser speaks, has no `Host`.
 */
const refuseWebsites =
  (endpoint: Handler): Handler =>
  (request) => {
    if (request.address === 'unix') return endpoint(request)
    const isLocal = loopbackHost.test(request.header('host') ?? 'localhost')
    if (isLocal && (request.header('sec-fetch-site') ?? 'none') === 'none') return endpoint(request)
    throw new OAuthError(
      'access_denied',
      'Without admin.token only programs on the same host may ask. Use 127.0.0.1, or set admin.token.',
      { status: 403 },
    )
  }

const createGuard = (token: string): ((endpoint: Handler) => Handler) => {
  const isBearer = createBearer(token)
  return (endpoint) => (request) => {
    if (isBearer(request)) return endpoint(request)
    throw new OAuthError('invalid_token', 'The admin token is missing or wrong.', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  }
}
