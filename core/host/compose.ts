import 'reflect-metadata'
import { container as root, type DependencyContainer } from 'tsyringe'
import type { Clock } from '../clock.js'
import { routes, type Endpoints } from '../http/routes.js'
import type { AccountDirectory } from '../interaction/account-directory.js'
import { openAudit } from '../observe/audit-file.js'
import { createReadiness } from '../observe/health.js'
import type { Log } from '../observe/log.js'
import { createMetrics } from '../observe/metrics.js'
import type { CheckedConfiguration } from './check-configuration.js'
import { CleanUp } from './clean-up.js'
import { collections } from './collections.js'
import type { Demo } from './demo.js'
import { closeGeneration, openGeneration, type Generation } from './generation.js'
import { createKeyLedger } from './key-ledger.js'
import { describeHeld, readPublications } from './key-publications.js'
import { observeKeys } from './key-metrics.js'
import { createLiveEndpoints } from './live-endpoints.js'
import { proveKeys } from './open-ring.js'
import { createRegistries } from './registries.js'
import { createReload, type Reload } from './reload.js'
import { serve } from './serve.js'
import { openStores } from './stores.js'
import { tokens } from './tokens.js'
import { wire, wireGeneration } from './wiring.js'

export interface HostOptions {
  readonly clock: Clock
  readonly log: Log
  /** Clients and an account to try the service with; absent in any configuration of one's own. */
  readonly demo?: Demo
}

export interface Host {
  /** Where the listeners are, for the operator to read. */
  readonly listening: { readonly public: string; readonly admin: string }
  /** Reads the configuration anew; what may change without a restart changes for the next request. */
  readonly reload: Reload
  /** Not ready first, then finish what is in flight within `graceMs`, then close stores and signers. */
  close(graceMs: number): Promise<void>
}

/**
 * Opens everything in order, wires it, listens. Throws `ConfigurationError` when a key or a plugin cannot be used,
 * `Unavailable` or the system's error otherwise; what was opened is closed again, in reverse.
 */
export const startHost = async (checked: CheckedConfiguration, options: HostOptions): Promise<Host> => {
  const cleanUp = new CleanUp()
  try {
    return await start(checked, options, cleanUp)
  } catch (error) {
    // Why the start failed matters more than what else went wrong then.
    await cleanUp.close().catch(() => undefined)
    throw error
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
  container.register(tokens.options, { useValue: options })

  const audit = keep(await openAudit(config.audit, clock))
  container.register(tokens.audit, { useValue: audit })
  const stores = keep(await openStores(config, clock))
  container.register(tokens.stores, { useValue: stores })
  const publications = await readPublications(collections(stores).publications)
  const passwords = container.resolve(tokens.passwords)
  const sources = { clock, log, audit, stores, passwords, demo: options.demo, publications }

  let generation = await openGeneration(checked, sources)
  cleanUp.add(() => closeGeneration(generation))
  for (const { path, message } of generation.inventory.held.map(describeHeld))
    log.warn('configuration', { path, message })
  container.register(tokens.accounts, { useValue: liveAccounts(() => generation.accounts) })
  const publishedKeys = { publishedKey: (kid: string) => generation.ring.publishedKey(kid) }
  container.register(tokens.publishedKeys, { useValue: publishedKeys })
  const registries = keep(await createRegistries(checked.modules.plugins, container.resolve(tokens.services)))
  container.register(tokens.registries, { useValue: registries })
  let endpoints = endpointsOf(container, generation)

  const ledger = createKeyLedger(sources, generation)
  // What cannot be remembered is not published.
  await ledger.publish(generation)
  const readiness = createReadiness(clock, log)
  cleanUp.add(() => readiness.close())
  for (const role of ['records', 'ephemeral'] as const) {
    const check = (signal: AbortSignal) => stores[role].ping(signal)
    readiness.register({ name: `storage.${role}`, intervalMs: 1000, deadlineMs: 1000, check })
  }
  const metrics = createMetrics()
  observeKeys(metrics, () => generation.ring.report(), clock)
  const prove = (signal: AbortSignal) => generation.uses.during(proveKeys(generation.ring, signal))
  readiness.register({ name: 'keys', intervalMs: 1000, deadlineMs: 5000, check: prove })

  const reload = createReload({
    sources,
    ledger,
    serving: () => generation,
    serve: (next) => {
      endpoints = endpointsOf(container, next)
      generation = next
    },
  })
  const listeners = await serve({
    config,
    log,
    pages: container.resolve(tokens.pages),
    routes: routes(
      config.issuer,
      createLiveEndpoints(() => ({ endpoints, uses: generation.uses })),
    ),
    readiness,
    reload,
    metrics,
  })
  cleanUp.add(() => listeners.admin.close(0))
  const published = generation.ring.states().map(({ kid, alg, state }) => ({ kid, alg, state }))
  await audit.record({ event: 'configuration.loaded', issuer: config.issuer, keys: published })
  await ledger.tell(generation)
  cleanUp.add(ledger.watch(() => generation))

  return {
    listening: { public: listeners.public.url, admin: listeners.admin.url },
    reload,
    async close(graceMs) {
      readiness.drain()
      await listeners.public.close(graceMs)
      await cleanUp.close()
    },
  }
}

/** The endpoints that stand on one generation; all else is that of the container. */
const endpointsOf = (container: DependencyContainer, generation: Generation): Endpoints => {
  const own = container.createChildContainer()
  wireGeneration(own)
  own.register(tokens.config, { useValue: generation.checked.config })
  own.register(tokens.clients, { useValue: generation.clients })
  own.register(tokens.ring, { useValue: generation.ring })
  return own.resolve(tokens.endpoints)
}

/** Plugins live longer than a generation. */
const liveAccounts = (current: () => AccountDirectory): AccountDirectory => ({
  findByUsername: (username) => current().findByUsername(username),
  findBySubject: (subject) => current().findBySubject(subject),
})
