import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { startHost } from '../host/compose.js'
import { forWorker, serveWorkers } from '../workers/serve-workers.js'
import { shareProofs } from '../workers/probe-lead.js'
import { WorkerFailed, type WorkerStarted } from '../workers/worker-pool.js'
import type { Logger } from '../observe/logger.js'
import { CommandFailed } from './failure.js'

/** Runs the process that supervises the workers, until `stopped`. */
export const startAbove = async (
  checked: CheckedConfiguration,
  log: Logger,
  stopped: Promise<NodeJS.Signals>,
  graceMs: number,
): Promise<void> => {
  const serving = await serveWorkers(checked, log)
  process.on('exit', () => serving.kill())
  process.on('SIGHUP', () => void serving.reload())
  const first = await Promise.race([serving.started, stopped]).catch(async (error: unknown) => {
    await serving.close(0)
    throw error instanceof WorkerFailed ? new CommandFailed(error.message) : error
  })
  const hasStarted = typeof first === 'object'
  if (hasStarted) {
    log.info('started', { issuer: checked.config.issuer, public: first.public, admin: serving.admin })
    await log.flush()
  }
  log.info('stopping', { signal: await stopped })
  await serving.close(hasStarted ? graceMs : 0)
  log.info('stopped')
}

/** Runs one worker. It serves until the supervising process stops it or exits, or until SIGTERM. */
export const startAsWorker = async (
  checked: CheckedConfiguration,
  socket: string,
  log: Logger,
  graceMs: number,
): Promise<void> => {
  // A terminal sends these signals to every process, and the supervising process decides what to do.
  process.on('SIGINT', () => undefined).on('SIGHUP', () => undefined)
  const stopping = new AbortController()
  const stopped = new Promise<void>((stop) => {
    process.once('SIGTERM', stop).once('disconnect', stop)
    process.on('message', (message) => {
      if (message === 'stop') stop()
    })
  }).then(() => stopping.abort())
  process.once('uncaughtException', (error, origin) => {
    log.error('uncaught', { origin }, error)
    process.exit(1)
  })
  const options = { clock: Date.now, log, stopping: stopping.signal, proofs: shareProofs(), isWorker: true }
  const host = await startHost(forWorker(checked, socket), options).catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error
  })
  if (host === undefined) return
  process.on('message', (message) => {
    const failed = (error: unknown): void => log.error('The audit log was not reopened', {}, error)
    if (message === 'reopen_audit') host.reopenAudit().catch(failed)
  })
  const started: WorkerStarted = { listening: host.listening }
  process.send?.(started)
  log.info('worker started', { worker: process.env['SIGNET_WORKER'] ?? '' })
  await stopped
  await host.close(graceMs)
  log.info('worker stopped', { worker: process.env['SIGNET_WORKER'] ?? '' })
}
