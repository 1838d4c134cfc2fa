import cluster from 'node:cluster'
import { build } from '../package-root.js'
import { constants } from 'node:os'
import { relative } from 'node:path'
import type { Config } from '../../config/schema.js'
import { checkConfiguration } from '../checks/check-configuration.js'
import { loadPages } from '../host/load-pages.js'
import { startHost } from '../host/compose.js'
import { createDemo, deviceFactor, type Demo } from '../demo/demo.js'
import { countWorkers } from '../workers/serve-workers.js'
import { actedHere } from '../observe/acted-by.js'
import { createLogger, type Logger } from '../observe/logger.js'
import { demoConfigFile } from './deployment.js'
import { describeDemo } from './describe-demo.js'
import { print, printError } from './output.js'
import { makeFactor } from './principal-factors.js'
import { startAbove, startAsWorker } from './start-workers.js'

/** An orchestrator that kills the process after 30 seconds still sees an orderly shutdown. */
const graceMs = 25_000

/** Milliseconds at the end in which printed output can still be written. */
const printMs = 1000

export interface StartOptions {
  /** When absent, the demo is served. */
  readonly config?: string
  /** Replaces the port of the configuration. */
  readonly port?: number
}

/** Implements `signet start`, which serves until SIGTERM or SIGINT. */
export const start = async (options: StartOptions): Promise<void> => {
  try {
    await serve(options)
  } finally {
    // A reader that hangs must not keep the service from exiting.
    setTimeout(() => process.exit(), printMs).unref()
  }
}

const serve = async (options: StartOptions): Promise<void> => {
  const file = options.config ?? demoConfigFile
  const isDemo = options.config === undefined
  if (isDemo && !cluster.isWorker) printError(`configuration: ${file} (the demo)`)
  const checked = await checkConfiguration(file, process.env, loadPages, options.port)
  const { config, warnings } = checked
  const log = createLogger({ level: config.log.level, pretty: process.stdout.isTTY })
  surviveOutputErrors(log, config.audit === 'stdout')
  const socket = cluster.isWorker ? process.env['SIGNET_WORKER_ADMIN'] : undefined
  if (socket !== undefined) return startAsWorker(checked, socket, log, graceMs)
  const stopped = untilStopped(log)
  for (const { path, message } of warnings) log.warn('configuration', { path, message })
  if (countWorkers(config) > 1) return startAbove(checked, log, stopped, graceMs)
  const demo = isDemo ? createDemo(config, relative(process.cwd(), file)) : undefined
  const stopping = new AbortController()
  void stopped.then(() => stopping.abort())
  let reload = (): void => log.warn('The configuration was not reloaded: the service has not started')
  // This is set from the beginning, because an unhandled signal ends the process.
  process.on('SIGHUP', () => reload())
  const starting = startHost(checked, { clock: Date.now, log, stopping: stopping.signal, ...(demo && { demo }) })
  const host = await starting.catch(async (error: unknown) => {
    // The error must be the last thing on the screen.
    await log.flush()
    if (!stopping.signal.aborted) throw error
  })
  if (host === undefined) return log.info('stopped', { signal: await stopped })
  // The log records the result.
  reload = () => void host.reload({ force: false, by: actedHere('sighup') }).catch(() => undefined)
  log.info('started', { ...build, issuer: config.issuer, ...host.listening })
  await log.flush()
  if (demo) {
    const { issueDemoLink } = await import('./operator-people.js')
    const secrets = { device: await issueSecret(demo), link: await issueDemoLink(config) }
    print(describeDemo(config, demo, host.listening, secrets))
  }
  log.info('stopping', { signal: await stopped })
  announceDelay(config)
  await host.close(graceMs)
  log.info('stopped')
}

/**
 * The audit log handles output that cannot be printed: it refuses until printing works again (F34). If the reader of
 * the audit log on standard output is gone, it does not come back; the next start of the process gets another one.
 */
const surviveOutputErrors = (log: Logger, isAudit: boolean): void => {
  process.stdout.removeAllListeners('error').on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code !== 'EPIPE' || !isAudit) return
    printError('Nobody reads standard output any longer, and the audit log goes there.')
    // Lines that nobody will read must not keep the process from exiting.
    void log.flush().then(() => process.exit(1))
  })
}

/** Without it, a person at the terminal would see nothing during the delay. */
const announceDelay = ({ shutdown: { delay_secs: seconds } }: Config): void => {
  if (process.stdout.isTTY && seconds > 0)
    printError(`Waiting ${String(seconds)} s for load balancers (shutdown.delay_secs). Press Ctrl+C again to stop now.`)
}

/** Issues the secret that the demo's device enrols with. Like the rest of the demo, it is new at every start. */
const issueSecret = async ({ device }: Demo): Promise<string | undefined> => {
  if (device === undefined) return undefined
  const { subject, principalId, principalType: type } = device
  const wanted = { kind: deviceFactor, subject, principalId, type, config: demoConfigFile }
  return (await makeFactor(wanted)).lines['secret']
}

/**
 * Is set in the environment of a service that `start --watch` runs. The service ends with its parent process,
 * whatever ended that.
 */
export const watchedVariable = 'SIGNET_WATCHED'

/**
 * Resolves at the first signal to stop, or when the process that watches files for this one ends. A second signal
 * ends the process at once, and so does an uncaught error.
 */
const untilStopped = (log: Logger): Promise<NodeJS.Signals> =>
  new Promise((stop) => {
    let stopping = false
    const onSignal = (signal: NodeJS.Signals): void => {
      if (stopping) process.exit(128 + constants.signals[signal])
      stopping = true
      stop(signal)
    }
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
    if (process.env[watchedVariable] !== undefined) process.once('disconnect', () => onSignal('SIGTERM'))
    process.once('uncaughtException', (error, origin) => {
      log.error('uncaught', { origin }, error)
      process.exit(1)
    })
  })
