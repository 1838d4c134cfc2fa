import { availableParallelism } from 'node:os'
import { formatProblem } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import { isSocketPath } from '../../config/fields.js'
import { readReloadRequest } from '../endpoints/admin/reload.js'
import { jsonText, type Handler } from '../endpoints/message.js'
import { createAdminEndpoints } from '../host/admin-endpoints.js'
import { adminRoutes } from '../http/admin.js'
import { createApp } from '../http/app.js'
import { plainErrorPage } from '../http/error-response.js'
import { removeStaleSocket } from '../http/server.js'
import { actedHere } from '../observe/acted-by.js'
import type { Log } from '../observe/log.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { observeReadiness } from '../host/instruments/service-metrics.js'
import { adminAccess, revealed } from '../host/admin-access.js'
import { listenAs } from '../host/listen-as.js'
import { reloadDeadlines } from './ask-worker.js'
import { createForwarder } from './forward.js'
import { createWorkerMetrics } from './worker-metrics.js'
import { createWorkerPool, type WorkerPool } from './worker-pool.js'
import { createWorkerReadiness } from './worker-readiness.js'
import { createWorkerReload, type ReloadWorkers } from './worker-reload.js'

/** How many processes the configuration asks for. */
export const countWorkers = ({ workers }: Pick<Config, 'workers'>): number =>
  workers === 'auto' ? availableParallelism() : workers

export interface ServingWorkers {
  /** Where the shared admin listener is. */
  readonly admin: string
  /** Where they listen, once all serve. Throws `WorkerFailed`. */
  readonly started: ReturnType<WorkerPool['start']>
  /** Makes every worker reload the configuration. The outcome is logged. */
  reload(): Promise<void>
  /** Reports not ready first, then stops every worker gracefully. */
  close(graceMs: number): Promise<void>
  /** Kills every worker. */
  kill(): void
}

/**
 * The process above the workers. It serves no requests, and has the shared admin listener, also while workers wait
 * for a store (F32). Throws the system's error when it cannot listen.
 */
export const serveWorkers = async (checked: CheckedConfiguration, log: Log): Promise<ServingWorkers> => {
  const { config } = checked
  // A restarted worker must not take the socket from the others.
  if (isSocketPath(config.listen.host)) await removeStaleSocket(config.listen.host)
  const pool = await createWorkerPool(countWorkers(config), log)
  const readiness = createWorkerReadiness(pool)
  const metrics = createWorkerMetrics(pool)
  observeReadiness(metrics, readiness)
  const reloadWorkers = createWorkerReload(pool, log, (difference) => readiness.differ(difference))
  /**
   * The workers have loaded the configuration; the certificate of the shared admin listener belongs to this process.
   */
  const reload: ReloadWorkers = async (request) => {
    const answer = await reloadWorkers(request)
    if (answer.status !== 200 || config.admin.tls === undefined) return answer
    try {
      const tls = revealed((await checked.again()).config.admin.tls)
      if (tls !== undefined) admin.renew(tls)
      return answer
    } catch {
      const problems = [{ path: 'admin.tls', message: 'certificate and key do not belong together, or cannot be read' }]
      log.warn('The certificate of the admin listener was not renewed', { problems: problems.map(formatProblem) })
      return { status: 409, body: JSON.stringify({ status: 'partial', problems }) }
    }
  }
  const answerReload: Handler = async (http) => {
    const { status, body } = await reload(readReloadRequest(http))
    return jsonText(status, body)
  }
  const access = adminAccess(config, { clock: Date.now, log })
  const app = createApp({
    ...access.app,
    routes: adminRoutes(
      createAdminEndpoints({ readiness, metrics, reload: answerReload }, createForwarder(pool)),
      access.credentials,
      Date.now,
      access.basePath,
    ),
    log,
    errorPage: plainErrorPage,
    secure: false,
    trustedProxies: access.trustedProxies,
    requestBudgetMs: reloadDeadlines.all,
    logLevel: 'debug',
  })
  const admin = await listenAs('admin', app, { ...access.listener, log }).catch(async (error: unknown) => {
    readiness[Symbol.dispose]()
    await pool.stop(0)
    throw error
  })
  return {
    admin: admin.url,
    started: pool.start(),
    async reload() {
      await reload({ force: false, by: actedHere('sighup') }).catch((error: unknown) =>
        log.error('A reload failed', {}, error),
      )
    },
    async close(graceMs) {
      readiness.drain()
      await pool.stop(graceMs)
      readiness[Symbol.dispose]()
      await admin.close(0)
    },
    kill: () => pool.kill(),
  }
}

/** The same deployment for one worker, whose admin listener is a socket that the parent process calls. */
export const forWorker = (checked: CheckedConfiguration, socket: string): CheckedConfiguration => ({
  ...checked,
  config: {
    ...checked.config,
    admin: { ...checked.config.admin, host: socket, port: 0, tls: undefined, handoff: undefined },
  },
  again: async () => forWorker(await checked.again(), socket),
})
