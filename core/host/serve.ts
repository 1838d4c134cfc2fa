import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import type { AdminEndpoint } from '../endpoints/admin/admin-endpoint.js'
import { adminRoutes } from '../http/admin.js'
import type { OperatorGuard } from '../http/operator-guard.js'
import { createApp } from '../http/app.js'
import { plainErrorPage, type ErrorPage } from '../http/error-response.js'
import { createConnectionCertificates, createHeaderCertificates } from '../http/client-certificate.js'
import type { TraceContexts } from '../http/carry-trace.js'
import type { RequestObserver } from '../http/request-log.js'
import type { LoadShedding } from '../http/shed-load.js'
import type { Route } from '../http/route.js'
import type { Listening } from '../http/server.js'
import { errorPage } from '../interaction/pages/error-page.js'
import type { Pages } from '../interaction/pages/pages.js'
import type { Log } from '../observe/log.js'
import type { RequestIds } from '../observe/plugin-log.js'
import type { Tracing } from '../observe/tracing.js'
import { certificatesOf } from '../checks/config-changes.js'
import { adminAccess, revealed } from './admin-access.js'
import { listenAs } from './listen-as.js'

/** The time in milliseconds that one request may take (docs/design/faults.md#rule-2). */
const requestBudgetMs = 3000

export interface ServeOptions {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly errorPage: ErrorPage
  /** Error pages of the admin listener. The default is one without a style. */
  readonly adminErrorPage?: ErrorPage
  readonly routes: readonly Route[]
  readonly admin: readonly AdminEndpoint[]
  /** Admits operators. It is absent while the process waits for its stores. */
  readonly operatorGuard?: OperatorGuard
  /** True when the admin listener is a socket that a parent process calls on behalf of others. */
  readonly isWorker?: boolean | undefined
  /** This is called for each answer of the public listener. */
  readonly observe?: RequestObserver
  /** This is called for each certificate in a header that did not come from a trusted proxy. */
  readonly certificateIgnored: () => void
  readonly shedding?: LoadShedding
  readonly traces?: TraceContexts
  readonly tracing?: Tracing | undefined
  readonly requestIds?: RequestIds | undefined
}

export interface Listeners {
  /** Where the listeners are, for the operator to read. */
  readonly listening: { readonly public: string; readonly admin: string; readonly mtls?: string }
  readonly admin: Listening
  /** The public listener and the one for mutual TLS, which open and close together. */
  readonly clients: Pick<Listening, 'drain' | 'close'>
  /** Uses the certificates of this configuration for new connections. */
  renew(config: Pick<Config, 'listen' | 'mtls' | 'admin'>): void
}

/** Returns error pages in the language of their reader. */
export const errorPageOf =
  (pages: Pick<Pages, 'for'>): ErrorPage =>
  (shown, languages) => {
    const spoken = pages.for(languages)
    return { html: spoken.show(errorPage, shown), language: spoken.language }
  }

/** Returns true for pages that people see: a browser must not ask them for a certificate. */
const isForPeople = ({ errorTitle }: Route): boolean => errorTitle !== undefined

/**
 * Opens the public listener, the one for mutual TLS if there is one, and the admin listener, each with its own table.
 */
export const serve = async (options: ServeOptions): Promise<Listeners> => {
  const { config, log, errorPage, routes, observe, traces, tracing, shedding } = options
  const common = {
    log,
    errorPage,
    requestBudgetMs,
  }
  const { listen, mtls, client_certificate_header: header, trusted_proxies: trustedProxies } = config
  const forClients = {
    ...common,
    secure: config.issuer.startsWith('https:'),
    trustedProxies,
    logLevel: 'info' as const,
    ...(observe && { observe }),
    ...(shedding && { shedding }),
    ...(traces && { traces, tracing }),
    requestIds: options.requestIds,
  }
  const certificates =
    header && createHeaderCertificates({ ...header, trustedProxies, ignored: options.certificateIgnored })
  const app = createApp({ ...forClients, routes, certificates })
  const { operatorGuard, isWorker = false } = options
  const access = adminAccess(config, { clock: options.clock, log, isWorker })
  const adminApp = createApp({
    ...common,
    ...access.app,
    errorPage: options.adminErrorPage ?? plainErrorPage,
    routes: adminRoutes(
      options.admin,
      { ...access.credentials, ...(operatorGuard && { operatorGuard }) },
      options.clock,
      access.basePath,
    ),
    secure: false,
    trustedProxies: access.trustedProxies,
    logLevel: 'debug',
  })
  const opened: Listening[] = []
  const open = async (...listener: Parameters<typeof listenAs>): Promise<Listening> => {
    const listening = await listenAs(...listener)
    opened.push(listening)
    return listening
  }
  try {
    const admin = await open('admin', adminApp, { ...access.listener, exclusive: true, log })
    const shown = await open('listen', app, { ...listen, tls: revealed(listen.tls), log })
    if (mtls?.listen === undefined) return listeners(shown, admin)
    const machines = routes.filter((route) => !isForPeople(route))
    const connections = createConnectionCertificates(options.clock)
    const mtlsApp = createApp({ ...forClients, routes: machines, certificates: connections.read })
    const { host = listen.host, port, tls = listen.tls } = mtls.listen
    const where = { host, port, tls: revealed(tls), clientCertificates: connections, log }
    return listeners(shown, admin, await open('mtls.listen', mtlsApp, where))
  } catch (error) {
    await Promise.all(opened.map((listening) => listening.close(0)))
    throw error
  }
}

const listeners = (shown: Listening, admin: Listening, mtls?: Listening): Listeners => ({
  listening: { public: shown.url, admin: admin.url, ...(mtls && { mtls: mtls.url }) },
  renew(config) {
    const tls = certificatesOf(config)
    const own = revealed(tls.listen)
    if (own) shown.renew(own)
    const machines = revealed(tls['mtls.listen'] ?? tls.listen)
    if (machines) mtls?.renew(machines)
    const operators = revealed(tls.admin)
    if (operators) admin.renew(operators)
  },
  admin,
  clients: {
    drain() {
      shown.drain()
      mtls?.drain()
    },
    async close(graceMs) {
      await Promise.all([shown.close(graceMs), mtls?.close(graceMs)])
    },
  },
})
