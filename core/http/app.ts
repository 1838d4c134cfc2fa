import type { IncomingMessage, ServerResponse } from 'node:http'
import Koa from 'koa'
import type { Log } from '../observe/log.js'
import type { RequestIds } from '../observe/plugin-log.js'
import type { Tracing } from '../observe/tracing.js'
import { carryTrace, type TraceContexts } from './carry-trace.js'
import { createAddressReader } from './client-address.js'
import type { CertificateReader } from './client-certificate.js'
import { cors } from './cors.js'
import { createDeadlines } from './request-deadlines.js'
import { dispatch, notFound } from './dispatch.js'
import { errorFunnel, type ErrorPage } from './error-response.js'
import { acceptsPages, checkHeaders, hasLongHeaders, tooLongHeaders } from './exchange.js'
import type { Context, Exchange, Middleware } from './exchange.js'
import { findRoute } from './find-route.js'
import { identify, requestLog, type RequestObserver } from './request-log.js'
import type { Route } from './route.js'
import { securityHeaders } from './security-headers.js'
import { shedLoad, type LoadShedding } from './shed-load.js'
import { said } from '../oauth/said.js'

export interface AppOptions {
  readonly routes: readonly Route[]
  readonly log: Log
  readonly errorPage: ErrorPage
  /** The issuer is https. */
  readonly secure: boolean
  /** As `createAddressReader` reads them. */
  readonly trustedProxies: readonly string[]
  /** Absent: no request has a certificate. */
  readonly certificates?: CertificateReader | undefined
  /** Milliseconds after which a request's signal is aborted. */
  readonly requestBudgetMs: number
  /** Level of the request log. */
  readonly logLevel: 'debug' | 'info'
  /** Where requests are in traces; filled while they are under way. Absent: tracing is off. */
  readonly traces?: TraceContexts
  readonly tracing?: Tracing | undefined
  /** Absent: nothing asks which request it works for. Node 20 and 22 make every promise a little slower for it. */
  readonly requestIds?: RequestIds | undefined
  /** Absent: no request is turned away, however busy the process is. */
  readonly shedding?: LoadShedding
  /** Called for each answer. */
  readonly observe?: RequestObserver
}

/** Cookies are all that a person's browser sends in such numbers. */
const cookiesToDelete = said('cookies_to_delete')

const refuseBadHeaders: Middleware = (ctx, next) => {
  const { req, state } = ctx
  // The stylesheet of the page that says so comes with the same cookies.
  if (state.route?.fromMemory !== true && hasLongHeaders(req)) {
    if (!acceptsPages(req)) throw tooLongHeaders()
    state.errorTitle = 'error'
    throw tooLongHeaders(cookiesToDelete)
  }
  checkHeaders(req)
  return next()
}

/**
 * The list as one function. koa-compose and Koa's own end of a request (on-finished, `respond`) cost a small request
 * 5 µs, and have nothing to do here: the funnel answers everything, and answers end on `res`.
 */
const chain = (list: readonly Middleware[]): ((ctx: Context) => Promise<void>) =>
  list.reduceRight<(ctx: Context) => Promise<void>>(
    (next, middleware) => (ctx) => middleware(ctx, () => next(ctx)) as Promise<void>,
    () => Promise.resolve(),
  )

/** The Koa application as a listener for `listen`. Every request goes down this list and nowhere else. */
export const createApp = (options: AppOptions): ((request: IncomingMessage, response: ServerResponse) => void) => {
  const {
    routes,
    log,
    errorPage,
    secure,
    trustedProxies,
    certificates = () => undefined,
    requestBudgetMs,
    logLevel,
    observe,
    traces,
    tracing,
    requestIds,
    shedding,
  } = options
  const services = {
    addressOf: createAddressReader(trustedProxies),
    certificateOf: certificates,
    deadline: createDeadlines(requestBudgetMs),
  }

  const app = new Koa<Exchange>()
  app.use(identify)
  if (traces !== undefined) app.use(carryTrace(traces, tracing))
  if (requestIds !== undefined) app.use((ctx, next) => requestIds.run(ctx.state.requestId, next))
  app.use(errorFunnel(log, errorPage))
  app.use(requestLog(log, logLevel, !secure, observe))
  app.use(securityHeaders(secure))
  app.use(findRoute(routes))
  app.use(cors(routes))
  if (shedding !== undefined) app.use(shedLoad(shedding))
  app.use(refuseBadHeaders)
  app.use(dispatch(services))
  app.use(notFound)
  // The funnel has answered everything; what comes here is a socket that broke.
  app.on('error', () => log.debug('A connection was lost'))

  const run = chain(app.middleware)
  return (request, response) => {
    const ctx = app.createContext<Exchange>(request, response) as Context
    run(ctx).catch((error: Error) => ctx.onerror(error))
  }
}
