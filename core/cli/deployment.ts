import { join } from 'node:path'
import type { Config } from '../../config/schema.js'
import { loadConfig } from '../../config/load.js'
import { checkConfiguration, type CheckedConfiguration } from '../host/check-configuration.js'
import { openStores, type Stores } from '../host/stores.js'
import { openAudit, openAuditStream, type AuditFile } from '../observe/audit-file.js'
import { packageRoot } from '../package-root.js'

/** What `start` and the other commands use without `--config`. */
export const defaultConfigFile = join(packageRoot, 'config', 'default.yaml')

/** What every command of a deployment is told. */
export interface DeploymentOptions {
  readonly config?: string
}

/** Throws `ConfigurationError`. */
export const readDeployment = (options: DeploymentOptions): Promise<Config> =>
  loadConfig(options.config ?? defaultConfigFile, process.env)

/** As `readDeployment`, with modules, clients and all that has to fit together. */
export const checkDeployment = (options: DeploymentOptions): Promise<CheckedConfiguration> =>
  checkConfiguration(options.config ?? defaultConfigFile, process.env)

/** Does `work` on the deployment's stores and closes them. The service may run meanwhile. Throws `Unavailable`. */
export const withStores = async <T>(config: Config, work: (stores: Stores) => Promise<T>): Promise<T> => {
  await using stores = await openStores(config, Date.now)
  return await work(stores)
}

/** As `withStores`, for a change that the audit log tells of when `work` returns true. */
export const changeStores = async (
  config: Config,
  change: { readonly action: string; readonly [whom: string]: string },
  work: (stores: Stores) => Promise<boolean>,
): Promise<boolean> => {
  // Opened first: what cannot be recorded is not done.
  await using audit = await openAuditBeside(config)
  const done = await withStores(config, work)
  if (done) await audit.record({ event: 'administration', ...change })
  return done
}

/** Standard output has the results of commands. */
export const openAuditBeside = (config: Config): Promise<AuditFile> => {
  if (config.audit !== 'stdout') return openAudit(config.audit, Date.now)
  return Promise.resolve(openAuditStream(process.stderr, Date.now))
}

/** Every record, page by page. */
export const listAll = async <T>(
  page: (after: string | undefined) => Promise<readonly T[]>,
  idOf: (record: T) => string,
): Promise<readonly T[]> => {
  const all: T[] = []
  let records = await page(undefined)
  while (records.length > 0) {
    all.push(...records)
    records = await page(records.map(idOf).at(-1))
  }
  return all
}
