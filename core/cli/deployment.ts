import { join } from 'node:path'
import type { Config } from '../../config/schema.js'
import { checkConfiguration, loadWithStores, type CheckedConfiguration } from '../checks/check-configuration.js'
import { loadPages } from '../host/load-pages.js'
import type { Administration, Operator } from '../administration/administration.js'
import { findMissingStore, openStores, type Stores } from '../collections/stores.js'
import type { Registries } from '../modules/registries.js'
import { actedHere } from '../observe/acted-by.js'
import { openAudit, openAuditOnErrors } from '../observe/audit-file.js'
import type { AuditFile } from '../observe/audit-log.js'
import { noLog } from '../observe/log.js'
import { packageRoot } from '../package-root.js'
import type { Unavailable } from '../unavailable.js'
import { CommandFailed } from './failure.js'
import { printError } from './output.js'

/** `start` serves this configuration when none is given. */
export const demoConfigFile = join(packageRoot, 'config', 'default.yaml')

/** Every command of a deployment has these options. */
export interface DeploymentOptions {
  readonly config: string
  /** The service that the command works on, in the place of the stores of a configuration: a URL or a socket. */
  readonly admin?: string
}

/** Reads the configuration. Throws `ConfigurationError`. */
export const readDeployment = (options: DeploymentOptions): Promise<Config> =>
  loadWithStores(options.config, process.env)

/** Reads the configuration and checks it with its modules and clients. Throws `ConfigurationError`. */
export const checkDeployment = (options: DeploymentOptions): Promise<CheckedConfiguration> =>
  checkConfiguration(options.config, process.env, loadPages)

/**
 * Throws `CommandFailed` when an embedded store does not exist. Otherwise a command in the wrong folder would work on
 * an empty one.
 */
const demandStores = async (config: Config): Promise<void> => {
  const missing = await findMissingStore(config)
  if (missing === undefined) return
  throw new CommandFailed(
    `${missing.component}: there is no store at ${missing.path}. A relative path begins at the working directory; ` +
      'a store is created by "signet start" or "signet migrate".',
  )
}

/**
 * Runs `work` on the deployment's stores and closes them. The service may run at the same time. Throws
 * `CommandFailed`, `Unavailable`.
 */
export const withStores = async <T>(config: Config, work: (stores: Stores) => Promise<T>): Promise<T> => {
  await demandStores(config)
  await using stores = await openStores(config, Date.now)
  return await work(stores)
}

/**
 * Opens what changes need, runs `work`, which makes the change of one command, and closes everything. The service may
 * run at the same time. Throws `CommandFailed`, `Unavailable`.
 */
export const administer = async <T>(
  config: Config,
  work: (administration: Administration, operator: Operator) => Promise<T>,
): Promise<T> => {
  await demandStores(config)
  await using audit = await openAuditBeside(config)
  await using stores = await openStores(config, Date.now)
  return await work({ config, stores, clock: Date.now, audit, unrecorded: reportUnrecorded }, actedHere('command'))
}

/** The result of the command must still be shown, because a secret exists nowhere else. */
const reportUnrecorded = ({ component, message }: Unavailable): void => {
  printError(`${component}: ${message}. The change was made, but the audit log has only its beginning.`)
  process.exitCode = 1
}

/** Runs `work` with what the plugins contribute. Throws `CommandFailed`, `ConfigurationError`, `Unavailable`. */
export const withPlugins = async <T>(
  checked: CheckedConfiguration,
  work: (registries: Registries, stores: Stores) => Promise<T>,
): Promise<T> => {
  await demandStores(checked.config)
  // The module is loaded here so that commands without plugins do not wait for it.
  const { withRegistries } = await import('../host/with-registries.js')
  return withRegistries(checked, { clock: Date.now, log: noLog }, work)
}

/** Does the same as `administer`, for a change that needs what the plugins contribute. */
export const administerPlugins = <T>(
  checked: CheckedConfiguration,
  work: (administration: Administration, operator: Operator, registries: Registries) => Promise<T>,
): Promise<T> =>
  withPlugins(checked, async (registries, stores) => {
    const { config } = checked
    await using audit = await openAuditBeside(config)
    const administration = { config, stores, clock: Date.now, audit, unrecorded: reportUnrecorded }
    return await work(administration, actedHere('command'), registries)
  })

/**
 * Opens the audit log. A log on standard output is written to standard error instead, because standard output carries
 * the results of commands.
 */
export const openAuditBeside = async (config: Config): Promise<AuditFile> =>
  config.audit === 'stdout' ? openAuditOnErrors(config.issuer, Date.now) : openAudit(config, Date.now)
