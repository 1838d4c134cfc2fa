import type { Config } from '../../config/schema.js'
import { adminRoutes } from '../http/admin.js'
import { createApp } from '../http/app.js'
import type { TraceContexts } from '../http/carry-trace.js'
import type { RequestObserver } from '../http/request-log.js'
import type { LoadShedding } from '../http/shed-load.js'
import type { Route } from '../http/route.js'
import type { Listening } from '../http/server.js'
import type { Pages } from '../interaction/pages/pages.js'
import type { Readiness } from '../observe/health.js'
import type { Log } from '../observe/log.js'
import type { Metrics } from '../observe/metrics.js'
import type { Tracing } from '../observe/tracing.js'
import { listenAs } from './listen-as.js'
import type { Reload } from './reload.js'
import { createReloadEndpoint } from './reload-endpoint.js'

/** Milliseconds that one request may take (docs/design/faults.md#rule-2). */
const requestBudgetMs = 3000

export interface ServeOptions {
  readonly config: Config
  readonly log: Log
  readonly pages: Pages
  readonly routes: readonly Route[]
  readonly readiness: Readiness
  readonly reload: Reload
  readonly metrics: Metrics
  /** Called for each answer of the public listener. */
  readonly observe?: RequestObserver
  readonly shedding?: LoadShedding
  readonly traces?: TraceContexts
  readonly tracing?: Tracing | undefined
}

/** Opens the public listener and the admin listener, which serve different tables on different ports. */
export const serve = async (options: ServeOptions): Promise<{ public: Listening; admin: Listening }> => {
  const { config, log, pages, routes, readiness, reload, metrics, observe, traces, tracing, shedding } = options
  const common = {
    log,
    errorPage: pages.error.bind(pages),
    requestBudgetMs,
  }
  const app = createApp({
    ...common,
    routes,
    secure: config.issuer.startsWith('https:'),
    trustedProxies: config.trusted_proxies,
    logLevel: 'info',
    ...(observe && { observe }),
    ...(shedding && { shedding }),
    ...(traces && { traces, tracing }),
  })
  const adminApp = createApp({
    ...common,
    routes: adminRoutes({
      readiness,
      token: config.admin.token?.reveal(),
      reload: createReloadEndpoint(reload),
      metrics,
    }),
    secure: false,
    trustedProxies: [],
    logLevel: 'debug',
  })
  const { host, port, tls } = config.listen
  const admin = await listenAs('admin', adminApp, { ...config.admin, exclusive: true, log })
  try {
    const listening = await listenAs('listen', app, {
      host,
      port,
      ...(tls && { tls: { cert: tls.cert, key: tls.key.reveal() } }),
      log,
    })
    return { public: listening, admin }
  } catch (error) {
    await admin.close(0)
    throw error
  }
}
