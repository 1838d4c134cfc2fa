import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import type { Handler } from '../endpoints/message.js'
import { routes } from '../http/routes.js'
import { loadAssets } from '../interaction/pages/load-assets.js'
import { createPages } from '../interaction/pages/create-pages.js'
import { createReadiness } from '../observe/health.js'
import type { Log } from '../observe/log.js'
import { createMetrics } from '../observe/metrics.js'
import { Unavailable } from '../unavailable.js'
import { Disposables } from '../disposables.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { collections } from '../collections/collections.js'
import { declarations } from './endpoint-list.js'
import { createAdminEndpoints } from './admin-endpoints.js'
import { readPublications } from '../keys/lifecycle/publications.js'
import { errorPageOf, serve } from './serve.js'
import { observeReadiness } from './instruments/service-metrics.js'
import { schemasOf } from '../collections/store-schemas.js'
import { watchStoreHealth } from '../collections/store-health.js'
import { openStores, type Stores } from '../collections/stores.js'

/** The time in milliseconds between two attempts to reach the stores. */
const intervalMs = 1000

export interface WaitOptions {
  readonly clock: Clock
  readonly log: Log
  /** Ends the wait when it is aborted. */
  readonly stopping?: AbortSignal | undefined
}

/**
 * Returns true for errors that may pass, which are those of a store behind a network. A directory that cannot be used
 * stays so.
 */
export const isWorthWaiting = ({ storage }: Config, error: unknown): error is Unavailable =>
  error instanceof Unavailable &&
  (['records', 'ephemeral'] as const).some(
    (role) => error.component === `storage.${role}` && storage[role].use !== 'embedded',
  )

const refuse: Handler = () => {
  throw new Unavailable('start', 'no', 'startup is waiting for a store')
}

/**
 * Waits for a dependency that is down at the start (F32): it listens, reports not ready and answers every request
 * with 503 until the stores can be read. Rejects when `stopping` is aborted.
 */
export const waitForStores = async (
  { config, theme, messages }: Pick<CheckedConfiguration, 'config' | 'theme' | 'messages'>,
  options: WaitOptions,
  failure: Unavailable,
): Promise<void> => {
  const { clock, log, stopping } = options
  const disposables = new Disposables()
  try {
    let stores: Stores | undefined
    disposables.add(() => stores?.[Symbol.asyncDispose]())
    const ask = async (): Promise<void> => {
      // An adapter may need its server while it is being opened.
      stores ??= await openStores(config, clock)
      await readPublications(collections(stores).publications)
      for (const schema of schemasOf(stores).values()) await schema.check()
    }
    await answers(ask)
    const readiness = createReadiness(() => performance.now(), log)
    disposables.add(() => readiness.close())
    const check = () => Promise.reject(new Unavailable('start', 'no', `waiting for ${failure.component}`))
    readiness.register({ name: 'start', intervalMs, deadlineMs: intervalMs, check })
    if (stores !== undefined) watchStoreHealth(readiness, stores, clock)
    const metrics = createMetrics()
    observeReadiness(metrics, readiness)
    const listeners = await serve({
      config,
      clock,
      log,
      errorPage: errorPageOf(
        createPages({ assetsPath: '', assets: new Map([...loadAssets(), ...theme.assets]), theme, messages }),
      ),
      routes: routes(
        config.issuer,
        declarations.map((declaration) => ({ ...declaration, answer: refuse })),
      ),
      admin: createAdminEndpoints({ readiness, metrics, reload: refuse }, () => refuse),
      certificateIgnored: () => undefined,
    })
    disposables.add(() => listeners.admin.close(0))
    disposables.add(() => listeners.clients.close(0))
    const { component, message } = failure
    log.warn('Startup is waiting for a store', { component, message, ...listeners.listening })
    do await pause(intervalMs, undefined, { signal: stopping })
    while (!(await answers(ask)))
  } finally {
    await disposables.close()
  }
}

const answers = async (ask: () => Promise<unknown>): Promise<boolean> => {
  try {
    await ask()
    return true
  } catch (error) {
    if (error instanceof Unavailable) return false
    throw error
  }
}
