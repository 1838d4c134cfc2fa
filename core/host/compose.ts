import 'reflect-metadata'
import { container as root } from 'tsyringe'
import type { Clock } from '../clock.js'
import { routes } from '../http/routes.js'
import { createAccountDirectory, openAccountStore, staticAccounts } from '../interaction/accounts.js'
import { openAudit } from '../observe/audit-file.js'
import { createReadiness } from '../observe/health.js'
import type { Log } from '../observe/log.js'
import type { CheckedConfiguration } from './check-configuration.js'
import { CleanUp } from './clean-up.js'
import { createClientDirectory } from './clients.js'
import { collections } from './collections.js'
import type { Demo } from './demo.js'
import { openRing, proveKeys } from './open-ring.js'
import { createRegistries, createSignerProviders } from './registries.js'
import { serve } from './serve.js'
import { openStores } from './stores.js'
import { tokens } from './tokens.js'
import { wire } from './wiring.js'

export interface HostOptions {
  readonly clock: Clock
  readonly log: Log
  /** Clients and an account to try the service with; absent in any configuration of one's own. */
  readonly demo?: Demo
}

export interface Host {
  /** Where the listeners are, for the operator to read. */
  readonly listening: { readonly public: string; readonly admin: string }
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
  const { config, modules } = checked
  const { clock, log, demo } = options
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
  const fixed = [...checked.clients, ...(demo?.clients ?? [])]
  container.register(tokens.clients, { useValue: createClientDirectory(fixed, collections(stores).clients) })
  const people = config.accounts.map((account) => ({ ...account, password: account.password.reveal() }))
  const accounts = await staticAccounts([...people, ...(demo?.accounts ?? [])], container.resolve(tokens.passwords))
  const directory = createAccountDirectory({ static: accounts, store: openAccountStore(stores.records) })
  container.register(tokens.accounts, { useValue: directory })

  const signers = keep(await createSignerProviders(modules.signers, { clock, log }))
  const ring = await openRing(config, signers.byName, clock)
  container.register(tokens.ring, { useValue: ring })
  const registries = keep(await createRegistries(modules.plugins, container.resolve(tokens.services)))
  container.register(tokens.registries, { useValue: registries })

  const readiness = createReadiness(clock, log)
  cleanUp.add(() => readiness.close())
  for (const role of ['records', 'ephemeral'] as const) {
    const check = (signal: AbortSignal) => stores[role].ping(signal)
    readiness.register({ name: `storage.${role}`, intervalMs: 1000, deadlineMs: 1000, check })
  }
  readiness.register({ name: 'keys', intervalMs: 30_000, deadlineMs: 5000, check: (signal) => proveKeys(ring, signal) })

  const table = routes(config.issuer, container.resolve(tokens.endpoints))
  const listeners = await serve({ config, log, pages: container.resolve(tokens.pages), routes: table, readiness })
  cleanUp.add(() => listeners.admin.close(0))
  const published = ring.states().map(({ kid, alg, state }) => ({ kid, alg, state }))
  await audit.record({ event: 'configuration.loaded', issuer: config.issuer, keys: published })

  return {
    listening: { public: listeners.public.url, admin: listeners.admin.url },
    async close(graceMs) {
      readiness.drain()
      await listeners.public.close(graceMs)
      await cleanUp.close()
    },
  }
}
