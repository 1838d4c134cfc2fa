import { resolve } from 'node:path'
import type { Config } from '../../config/schema.js'
import { ConfigurationError } from '../../config/problems.js'
import { auditProbes } from '../keys/lifecycle/audited-probes.js'
import type { SignerProvider } from '../keys/ports.js'
import { loadModules } from '../modules/load-modules.js'
import { createSignerProviders } from '../modules/registries.js'
import type { AuditLog } from '../observe/audit.js'
import type { Log } from '../observe/log.js'

/** The signers that a ceremony needs. */
export interface Backends extends AsyncDisposable {
  /** Their probes are in the audit log. */
  readonly providers: ReadonlyMap<string, SignerProvider>
  readonly inProcess: ReadonlySet<string>
}

export interface BackendsOptions {
  readonly config: Config
  /** The path of the configuration, from which modules are found. */
  readonly configFile: string
  readonly audit: AuditLog
  readonly log: Log
}

/** Loads these signers of the configuration. Throws `ConfigurationError`. */
export const openBackends = async (
  names: ReadonlySet<string>,
  { config, configFile, audit, log }: BackendsOptions,
): Promise<Backends> => {
  const wanted = Object.fromEntries(Object.entries(config.signers).filter(([name]) => names.has(name)))
  const { signers, problems } = await loadModules({ plugins: [], signers: wanted }, resolve(configFile))
  if (problems.length > 0) throw new ConfigurationError(problems)
  const opened = await createSignerProviders(signers, { clock: Date.now, log })
  const providers = new Map([...opened.byName].map(([name, one]) => [name, auditProbes(name, one, audit)]))
  return { providers, inProcess: opened.inProcess, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
}
