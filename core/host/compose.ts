import 'reflect-metadata'
import { setTimeout } from 'node:timers/promises'
import { container as root, type DependencyContainer } from 'tsyringe'
import type { Clock } from '../clock.js'
import type { TraceContexts } from '../http/carry-trace.js'
import { createRefusals } from '../endpoints/refusals.js'
import { routes } from '../http/routes.js'
import { ConfigurationError } from '../../config/problems.js'
import { liveAccounts } from '../interaction/account-directory.js'
import { cibaGrant } from '../oauth/ciba/request.js'
import type { ClientDirectory } from '../oauth/client.js'
import { notingSeen } from '../oauth/registration/registered-clients.js'
import { settlePairwiseKey } from '../oauth/pairwise-key.js'
import { actedHere } from '../observe/acted-by.js'
import { observeAudit } from '../observe/audit-counts.js'
import type { AuditLog } from '../observe/audit.js'
import { openAudit } from '../observe/audit-file.js'
import { newRequestIds } from '../observe/plugin-log.js'
import { createReadiness } from '../observe/health.js'
import type { Log } from '../observe/log.js'
import { LoopLag } from '../observe/loop-lag.js'
import { createMetrics } from '../observe/metrics.js'
import { findTracing } from '../observe/tracing.js'
import { observeProcess } from '../observe/process-metrics.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { CleanUp } from '../clean-up.js'
import { collections } from '../collections/collections.js'
import type { Demo } from './demo.js'
import { closeGeneration, openGeneration, type Generation } from './generation.js'
import { startBackChannel } from './back-channel.js'
import { startPings } from './ciba-pings.js'
import { createKeyLedger } from '../keys/lifecycle/ledger.js'
import { createHintKeys } from '../keys/lifecycle/hint-keys.js'
import { describeHeld, readPublications } from '../keys/lifecycle/publications.js'
import { observeKeys } from './instruments/key-metrics.js'
import { liveEndpoints, type Serving } from './endpoint-list.js'
import { describeKeys, probeKeys } from '../keys/lifecycle/open-ring.js'
import { createRegistries, needsLog } from '../modules/registries.js'
import { createReloadEndpoint, type Reload } from '../endpoints/admin/reload.js'
import { createAdminEndpoints, createServiceAnswers } from './admin-endpoints.js'
import { createReload } from './reload.js'
import { errorPageOf, serve, type Listeners } from './serve.js'
import {
  observeCertificates,
  observeDeployment,
  observeIgnoredCertificates,
  observeRateLimits,
  observeReadiness,
  observeRefusals,
  observeRequests,
  observeShedding,
} from './instruments/service-metrics.js'
import type { KeyRing } from '../keys/ports.js'
import { deploymentNeeds } from '../keys/lifecycle/signing-needs.js'
import { observeShares, openShares } from '../collections/shares.js'
import { proveStores } from '../collections/prove-stores.js'
import { tellStoreWarnings, watchStoreHealth } from '../collections/store-health.js'
import { observeStatusLists } from './instruments/status-list-metrics.js'
import { openStores, type Stores } from '../collections/stores.js'
import { tokens } from './injection-tokens.js'
import { traceSignatures } from './instruments/traced.js'
import { isWorthWaiting, waitForStores } from './wait-for-stores.js'
import { watchStores } from './instruments/watched-stores.js'
import { wire, wireGeneration } from './wiring.js'

export interface HostOptions {
  readonly clock: Clock
  readonly log: Log
  /** Clients and an account to try the service with; absent in every other configuration. */
  readonly demo?: Demo
  /** Ends a start that waits for a store. */
  readonly stopping?: AbortSignal
  /** What a test puts between the core and its stores or its audit log. */
  readonly doubles?: Doubles
}

export interface Doubles {
  readonly stores?: (sound: Stores) => Stores
  readonly audit?: (sound: AuditLog) => AuditLog
}

export interface Host {
  readonly listening: Listeners['listening']
  /** Reloads the configuration; what may change without a restart changes for the next request. */
  readonly reload: Reload
  reopenAudit(): Promise<void>
  /**
   * Not ready first, then the delay for balancers, then finish what is in flight, both within `graceMs`; then close stores
   * and signers.
   */
  close(graceMs: number): Promise<void>
}

/**
 * Opens everything in order, wires it, listens. While a store behind a network is down it listens, is not ready and tries
 * again (F32). Throws `ConfigurationError` when a key or a plugin cannot be used, `Unavailable` or the system's error
 * otherwise, and when `stopping` ends the wait; what was opened is closed again, in reverse.
 */
export const startHost = async (checked: CheckedConfiguration, options: HostOptions): Promise<Host> => {
  const cleanUp = new CleanUp()
  try {
    return await start(checked, options, cleanUp)
  } catch (error) {
    // Why the start failed matters more than what else went wrong then.
    await cleanUp.close().catch(() => undefined)
    if (!isWorthWaiting(checked.config, error)) throw error
    await waitForStores(checked, options, error)
    return startHost(checked, options)
  }
}

const start = async (checked: CheckedConfiguration, options: HostOptions, cleanUp: CleanUp): Promise<Host> => {
  const { config } = checked
  const { clock, log } = options
  const keep = <T extends AsyncDisposable>(opened: T): T => {
    cleanUp.add(() => opened[Symbol.asyncDispose]())
    return opened
  }
  const container = root.createChildContainer()
  wire(container)
  container.register(tokens.config, { useValue: config })
  container.register(tokens.clock, { useValue: clock })
  container.register(tokens.log, { useValue: log })
  const tracing = findTracing()
  container.register(tokens.options, { useValue: { ...options, tracing } })

  const metrics = createMetrics()
  const traces: TraceContexts = new Map()
  cleanUp.add(observeProcess(metrics))
  const auditFile = keep(await openAudit(config.audit, clock, { recorded: observeAudit(metrics), traces }))
  const audit = options.doubles?.audit?.(auditFile) ?? auditFile
  container.register(tokens.audit, { useValue: audit })
  const opened = keep(await openStores(config, clock))
  const watched = watchStores(options.doubles?.stores?.(opened) ?? opened, metrics, tracing)
  const { shares } = keep(openShares(watched, clock))
  observeShares(metrics, shares)
  const stores = { ...watched, shares }
  container.register(tokens.stores, { useValue: stores })
  const limits = container.resolve(tokens.rateLimits)
  // Closed before the audit log, in which it writes what it has counted.
  const refusals = keep(createRefusals({ audit, hasRoom: () => auditFile.hasRoom(), limits }))
  container.register(tokens.refusals, { useValue: refusals })
  const pairwiseKey = await settlePairwiseKey({
    secrets: collections(stores).secrets,
    fingerprint: container.resolve(tokens.subjects).fingerprint,
    replaced: config.pairwise_key_replaced,
  })
  if (pairwiseKey.outcome === 'refused')
    throw new ConfigurationError([{ path: 'pairwise_key', message: pairwiseKey.reason }])
  if (pairwiseKey.outcome === 'kept' && config.pairwise_key_replaced)
    log.warn('configuration', { path: 'pairwise_key_replaced', message: 'has had its effect: take it out' })
  const publications = await readPublications(collections(stores).publications)
  await proveStores(config, opened, clock)
  const passwords = container.resolve(tokens.passwords)
  const sources = { clock, log, audit, stores, passwords, demo: options.demo, publications }
  let generation = await openGeneration(checked, sources)
  cleanUp.add(() => closeGeneration(generation))
  for (const { path, message } of generation.inventory.held.map(describeHeld))
    log.warn('configuration', { path, message })
  container.register(tokens.accounts, { useValue: liveAccounts(() => generation.accounts) })
  const clients: ClientDirectory = {
    find: (id) => generation.clients.find(id),
    findEnabled: (id) => generation.clients.findEnabled(id),
    forget: (id) => generation.clients.forget(id),
  }
  container.register(tokens.clients, { useValue: clients })
  const publishedKeys = { publishedKey: (kid: string) => generation.ring.publishedKey(kid) }
  container.register(tokens.publishedKeys, { useValue: publishedKeys })
  const signingKeys: Pick<KeyRing, 'sign' | 'algorithms'> = {
    sign: (order) => generation.uses.during(traceSignatures(generation.ring, tracing).sign(order)),
    algorithms: (purpose) => generation.ring.algorithms(purpose),
  }
  container.register(tokens.signingKeys, { useValue: signingKeys })
  const inForce = () => generation.checked.config
  container.register(tokens.hintKeys, {
    useValue: createHintKeys({ published: publishedKeys, publications, config: inForce, clock }),
  })
  const { plugins } = checked.modules
  const requestIds = plugins.some(needsLog) ? newRequestIds() : undefined
  const registries = keep(await createRegistries(plugins, container.resolve(tokens.services), requestIds))
  container.register(tokens.registries, { useValue: registries })
  let serving = servingOf(container, generation)
  const ledger = createKeyLedger({ ...sources, store: collections(stores).publications }, generation)
  // What cannot be remembered is not published.
  await ledger.publish(generation)
  await generation.settleAccounts()
  // A clock that was set makes nothing older.
  const readiness = createReadiness(() => performance.now(), log)
  cleanUp.add(() => readiness.close())
  watchStoreHealth(readiness, stores, clock)
  readiness.register({ name: 'audit', intervalMs: 1000, deadlineMs: 1000, check: () => auditFile.check() })
  observeReadiness(metrics, readiness)
  observeRateLimits(metrics, limits)
  observeStatusLists(metrics, container.resolve(tokens.statusLists))
  observeRefusals(metrics, refusals)
  observeDeployment(metrics, inForce)
  observeCertificates(metrics, inForce)
  observeKeys(metrics, () => generation.ring.report(), clock)
  const known = () => describeKeys(generation.ring, deploymentNeeds(generation.checked.config))
  const probe = async (signal: AbortSignal) => {
    const { ring, uses } = generation
    await uses.during(probeKeys(ring, signal))
    return known()
  }
  readiness.register({ name: 'keys', intervalMs: 1000, deadlineMs: 5000, check: probe, known })

  const reload = createReload({
    reopenAudit: () => auditFile.reopen(),
    sources,
    ledger,
    serving: () => generation,
    serve: (next) => {
      serving = servingOf(container, next)
      generation = next
    },
    renewCertificates: (now) => listeners.renew(now),
  })
  const lag = new LoopLag()
  cleanUp.add(() => lag[Symbol.dispose]())
  const listeners = await serve({
    config,
    clock,
    log,
    errorPage: (shown, languages) => errorPageOf(serving.pages)(shown, languages),
    routes: routes(
      config.issuer,
      liveEndpoints(() => serving),
    ),
    admin: createAdminEndpoints(
      { readiness, metrics, reload: createReloadEndpoint(reload) },
      createServiceAnswers((wanted) => container.resolve(wanted)),
    ),
    observe: observeRequests(metrics),
    certificateIgnored: observeIgnoredCertificates(metrics),
    shedding: observeShedding(metrics, lag),
    traces,
    tracing,
    requestIds,
  })
  cleanUp.add(() => listeners.admin.close(0))
  if (registries.signIn.size > 0) {
    const sender = startBackChannel(
      (token) => container.resolve(token),
      () => serving,
    )
    cleanUp.add(() => sender.close())
  }
  if (registries.grants.has(cibaGrant)) {
    const pings = startPings((token) => container.resolve(token))
    cleanUp.add(() => pings.close())
  }
  const published = generation.ring.states().map(({ kid, alg, state }) => ({ kid, alg, state }))
  await audit.record({
    ...{ event: 'configuration.loaded', issuer: config.issuer, keys: published, by: actedHere('start') },
    ...(pairwiseKey.outcome === 'replaced' && { pairwise_key: 'replaced' }),
  })
  for (const { path, message } of await ledger.withdrawMissing()) log.warn('configuration', { path, message })
  await ledger.tell(generation)
  cleanUp.add(ledger.watch(() => generation))
  await tellStoreWarnings(stores, log)

  return {
    ...{ listening: listeners.listening, reload, reopenAudit: () => auditFile.reopen() },
    async close(graceMs) {
      readiness.drain()
      // A load balancer has to see it before connections are refused.
      const delayMs = Math.min(config.shutdown.delay_secs * 1000, graceMs)
      listeners.clients.drain()
      if (delayMs > 0) await setTimeout(delayMs)
      await listeners.clients.close(graceMs - delayMs)
      await cleanUp.close()
    },
  }
}

/** The endpoints that stand on one generation; all else is that of the container. */
const servingOf = (container: DependencyContainer, generation: Generation): Serving => {
  const own = container.createChildContainer()
  wireGeneration(own)
  own.register(tokens.config, { useValue: generation.checked.config })
  own.register(tokens.clients, {
    useValue: notingSeen(generation.clients, (client) => own.resolve(tokens.registeredClients).noteSeen(client)),
  })
  own.register(tokens.look, { useValue: generation.checked.look })
  own.register(tokens.messages, { useValue: generation.checked.messages })
  own.register(tokens.ring, { useValue: traceSignatures(generation.ring, container.resolve(tokens.options).tracing) })
  const endpoints = new Map(own.resolve(tokens.endpoints).map((endpoint) => [endpoint.path, endpoint]))
  return {
    endpoints,
    pages: own.resolve(tokens.pages),
    uses: generation.uses,
    signLogoutToken: own.resolve(tokens.signLogoutToken),
  }
}
