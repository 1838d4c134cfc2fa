import { setTimeout } from 'node:timers/promises'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { Disposables } from '../disposables.js'
import { logStoreWarnings, watchStoreHealth } from '../collections/store-health.js'
import { createReloadEndpoint, type Reload } from '../endpoints/admin/reload.js'
import { routes } from '../http/routes.js'
import { createReadiness, type Readiness } from '../observe/health.js'
import { metricsOf } from '../observe/metrics.js'
import { createAdminEndpoints, createServiceAnswers } from './admin-endpoints.js'
import type { SharedProofs } from '../keys/shared-proofs.js'
import type { Demo } from '../demo/demo.js'
import {
  observeIgnoredCertificates,
  observeReadiness,
  observeRequests,
  observeShedding,
} from './instruments/service-metrics.js'
import { createConsoleErrorPage } from './operators.js'
import { tokens } from './injection-tokens.js'
import { openIssuer, type Issuer } from './issuer.js'
import { openProcess, type HostProcess, type ProcessOptions } from './process.js'
import { errorPageOf, serve, type Listeners } from './serve.js'
import { isWorthWaiting, waitForStores } from './wait-for-stores.js'

export type { Doubles } from './process.js'

export interface HostOptions extends ProcessOptions {
  /** Clients and an account for trying the service. It is absent in every configuration but that of the demo. */
  readonly demo?: Demo
  /** The proofs that the workers of this host share. It is absent outside of workers. */
  readonly proofs?: SharedProofs
  /** True for a worker, whose admin listener is a socket that its parent process calls. */
  readonly isWorker?: boolean
  /** Ends a start that is waiting for a store. */
  readonly stopping?: AbortSignal
}

export interface Host {
  readonly listening: Listeners['listening']
  /** Reloads the configuration. What may change without a restart takes effect with the next request. */
  readonly reload: Reload
  /** Takes the steps of slots that are due now, as happens every five seconds anyway. Never throws. */
  readonly lookAtSlots: Issuer['lookAtSlots']
  /** Ends what withdrawn keys have signed, as happens every five seconds anyway. Never throws. */
  readonly endSignatures: Issuer['endSignatures']
  reopenAudit(): Promise<void>
  /**
   * Reports not ready, waits until load balancers have noticed, and finishes the requests in flight, all within
   * `graceMs`. Then it closes stores and signers.
   */
  close(graceMs: number): Promise<void>
}

/**
 * Opens everything in order, wires it, and listens. While a store behind a network is down it listens, reports not
 * ready and tries again (F32). Throws `ConfigurationError` when a key or a plugin cannot be used, and otherwise
 * `Unavailable` or the system's error, also when `stopping` ends the wait. What was opened is closed again, in
 * reverse order.
 */
export const startHost = async (checked: CheckedConfiguration, options: HostOptions): Promise<Host> => {
  const disposables = new Disposables()
  try {
    return await start(checked, options, disposables)
  } catch (error) {
    // The cause of the failed start matters more than errors while cleaning up.
    await disposables.close().catch(() => undefined)
    if (!isWorthWaiting(checked.config, error)) throw error
    await waitForStores(checked, options, error)
    return startHost(checked, options)
  }
}

/** Registers every component that must be up for the process to be ready. */
const openReadiness = (
  { log, metrics, stores, auditFile, clock }: HostProcess,
  { keyCheck }: Issuer,
  disposables: Disposables,
): Readiness => {
  // A monotonic clock is used, so that setting the system clock does not age anything.
  const readiness = createReadiness(() => performance.now(), log)
  disposables.add(() => readiness.close())
  watchStoreHealth(readiness, stores, clock)
  readiness.register({ name: 'audit', intervalMs: 1000, deadlineMs: 1000, check: () => auditFile.check() })
  readiness.register(keyCheck)
  observeReadiness(metrics, readiness)
  return readiness
}

const start = async (checked: CheckedConfiguration, options: HostOptions, disposables: Disposables): Promise<Host> => {
  const { config } = checked
  const process = await openProcess(config, options, disposables)
  const { log, metrics, traces, tracing, lag } = process
  const renewCertificates = (now: typeof config): void => listeners.renew(now)
  const issuer = await openIssuer(
    checked,
    process,
    { demo: options.demo, proofs: options.proofs, renewCertificates },
    disposables,
  )
  const { reload, requestIds } = issuer
  const readiness = openReadiness(process, issuer, disposables)
  issuer.admit(readiness)
  const observed = observeRequests(metricsOf(config.issuer, metrics))
  const listeners = await serve({
    config,
    clock: process.clock,
    log,
    errorPage: (shown, languages) => errorPageOf(issuer.pages())(shown, languages),
    adminErrorPage: createConsoleErrorPage(issuer.resolve),
    routes: routes(config.issuer, issuer.endpoints),
    admin: createAdminEndpoints(
      { readiness, metrics, reload: createReloadEndpoint(reload) },
      createServiceAnswers(issuer.resolve),
    ),
    ...{ operatorGuard: issuer.resolve(tokens.operatorGuard), isWorker: options.isWorker },
    observe(answered) {
      observed(answered)
      process.figures.request(answered)
    },
    certificateIgnored: observeIgnoredCertificates(metrics),
    shedding: observeShedding(metrics, lag),
    traces,
    tracing,
    requestIds,
  })
  disposables.add(() => listeners.admin.close(0))
  await issuer.begin()
  await logStoreWarnings(process.stores, log)

  return {
    ...{ listening: listeners.listening, reload, reopenAudit: () => process.auditFile.reopen() },
    lookAtSlots: issuer.lookAtSlots,
    endSignatures: issuer.endSignatures,
    async close(graceMs) {
      readiness.drain()
      // A load balancer must see this before connections are refused.
      const delayMs = Math.min(config.shutdown.delay_secs * 1000, graceMs)
      listeners.clients.drain()
      if (delayMs > 0) await setTimeout(delayMs)
      await listeners.clients.close(graceMs - delayMs)
      await disposables.close()
    },
  }
}
