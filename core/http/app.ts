import type { IncomingMessage, ServerResponse } from 'node:http'
import Koa from 'koa'
import type { Log } from '../observe/log.js'
import { createAddressReader } from './client-address.js'
import { cors } from './cors.js'
import { createDeadlines } from './deadline.js'
import { exactRoutes, notFound, pageRoutes } from './dispatch.js'
import { errorFunnel, type ErrorPage } from './error-response.js'
import { checkHeaders, type Exchange, type Middleware } from './exchange.js'
import { identify, requestLog } from './request-log.js'
import type { Route } from './route.js'
import { securityHeaders } from './security-headers.js'

export interface AppOptions {
  readonly routes: readonly Route[]
  readonly log: Log
  readonly errorPage: ErrorPage
  /** The issuer is https. */
  readonly secure: boolean
  /** As `createAddressReader` reads them. */
  readonly trustedProxies: readonly string[]
  /** Milliseconds after which a request's signal is aborted. */
  readonly requestBudgetMs: number
  /** Level of the request log. */
  readonly logLevel: 'debug' | 'info'
}

const refuseBadHeaders: Middleware = (ctx, next) => {
  checkHeaders(ctx.req)
  return next()
}

/** The Koa application as a listener for `listen`. Every request goes down this list and nowhere else. */
export const createApp = (options: AppOptions): ((request: IncomingMessage, response: ServerResponse) => void) => {
  const { routes, log, errorPage, secure, trustedProxies, requestBudgetMs, logLevel } = options
  const services = { addressOf: createAddressReader(trustedProxies), deadline: createDeadlines(requestBudgetMs) }

  const app = new Koa<Exchange>()
  app.use(identify)
  app.use(errorFunnel(log, errorPage))
  app.use(requestLog(log, logLevel))
  app.use(securityHeaders(secure))
  app.use(cors(routes))
  app.use(refuseBadHeaders)
  app.use(exactRoutes(routes, services))
  app.use(pageRoutes(routes, services))
  app.use(notFound)
  // The funnel has answered everything; what comes here is a socket that broke.
  app.on('error', () => log.debug('A connection broke'))

  const callback = app.callback()
  return (request, response) => void callback(request, response)
}
