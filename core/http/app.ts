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
  /** True when the issuer is https. */
  readonly secure: boolean
  /** The entries are read by `createAddressReader`. */
  readonly trustedProxies: readonly string[]
  /** If it is absent, requests have no certificate. */
  readonly certificates?: CertificateReader | undefined
  /** The time in milliseconds after which a request's signal is aborted. */
  readonly requestBudgetMs: number
  /** The level of the request log. */
  readonly logLevel: 'debug' | 'info'
  /** The traces of the requests that are under way. It is absent when tracing is off. */
  readonly traces?: TraceContexts
  readonly tracing?: Tracing | undefined
  /**
   * It is absent when nothing needs to know which request it works for: in Node 20 and 22 it makes every promise a
   * little slower.
   */
  readonly requestIds?: RequestIds | undefined
  /** If it is absent, no request is turned away, however busy the process is. */
  readonly shedding?: LoadShedding
  /** This is called for each answer. */
  readonly observe?: RequestObserver
}

/** Cookies are the only headers that a browser sends in such numbers. */
const cookiesToDelete = said('cookies_to_delete')

const refuseBadHeaders: Middleware = (ctx, next) => {
  const { req, state } = ctx
  // The stylesheet of the error page is requested with the same cookies, so it must pass.
  if (state.route?.fromMemory !== true && hasLongHeaders(req)) {
    if (!acceptsPages(req)) throw tooLongHeaders()
    state.errorTitle = 'error'
    throw tooLongHeaders(cookiesToDelete)
  }
  checkHeaders(req)
  return next()
}

/**
 * Combines the list into one function. koa-compose and Koa's own end of a request (on-finished, `respond`) cost a
 * small request 5 µs and are not needed here: the error funnel answers everything, and answers end on `res`.
 */
const chain = (list: readonly Middleware[]): ((ctx: Context) => Promise<void>) =>
  list.reduceRight<(ctx: Context) => Promise<void>>(
    (next, middleware) => (ctx) => middleware(ctx, () => next(ctx)) as Promise<void>,
    () => Promise.resolve(),
  )

/** Returns the Koa application as a listener for `listen`. Every request passes through this list and nothing else. */
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
  // The funnel has answered everything else, so an error that arrives here is a broken socket.
  app.on('error', () => log.debug('A connection was lost'))

  const run = chain(app.middleware)
  return (request, response) => {
    const ctx = app.createContext<Exchange>(request, response) as Context
    run(ctx).catch((error: Error) => ctx.onerror(error))
  }
}
