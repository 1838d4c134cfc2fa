import { constants } from 'node:os'
import { checkConfiguration } from '../host/check-configuration.js'
import { startHost } from '../host/compose.js'
import { createDemo } from '../host/demo.js'
import { createLogger, type Logger } from '../observe/logger.js'
import { defaultConfigFile, type DeploymentOptions } from './deployment.js'
import { describeDemo } from './describe-demo.js'
import { print } from './output.js'

/** An orchestrator that kills after 30 seconds still sees an orderly end. */
const graceMs = 25_000

/** `signet start`: serves until SIGTERM or SIGINT. */
export const start = async (options: DeploymentOptions): Promise<void> => {
  const checked = await checkConfiguration(options.config ?? defaultConfigFile, process.env)
  const { config, warnings } = checked
  const log = createLogger({ level: config.log.level, pretty: process.stdout.isTTY })
  const stopped = untilStopped(log)
  for (const { path, message } of warnings) log.warn('configuration', { path, message })
  const demo = options.config === undefined ? createDemo(config) : undefined
  const host = await startHost(checked, { clock: Date.now, log, ...(demo && { demo }) })
  // The log has what came of it.
  process.on('SIGHUP', () => void host.reload({ force: false }).catch(() => undefined))
  log.info('started', { issuer: config.issuer, ...host.listening })
  await log.flush()
  if (demo) print(describeDemo(config, demo, host.listening))
  log.info('stopping', { signal: await stopped })
  await host.close(graceMs)
  log.info('stopped')
}

/** The first signal to stop. A second one ends the process at once, and so does what nobody has caught. */
const untilStopped = (log: Logger): Promise<NodeJS.Signals> =>
  new Promise((stop) => {
    let stopping = false
    const onSignal = (signal: NodeJS.Signals): void => {
      if (stopping) process.exit(128 + constants.signals[signal])
      stopping = true
      stop(signal)
    }
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
    process.once('uncaughtException', (error, origin) => {
      log.error('uncaught', { origin }, error)
      process.exit(1)
    })
  })
