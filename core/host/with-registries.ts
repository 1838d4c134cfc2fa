import 'reflect-metadata'
import { container as root } from 'tsyringe'
import type { Clock } from '../clock.js'
import { createAccountDirectory, openAccountStore } from '../interaction/accounts.js'
import { staticAccounts } from '../interaction/configured-accounts.js'
import type { Log } from '../observe/log.js'
import type { AuditLog } from '../observe/audit.js'
import { Unavailable } from '../unavailable.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { createRegistries, type Registries } from '../modules/registries.js'
import { openStores, type Stores } from '../collections/stores.js'
import { tokens } from './injection-tokens.js'
import { wire } from './wiring.js'

/** A command records its own audit events. */
const noAudit: AuditLog = { record: async () => undefined }

/** Commands open no signer, so anything that needs the keys of the service is unavailable. */
const noKey = (): never => {
  throw new Unavailable('keys', 'no', 'A command opens no keys.')
}
const noKeys = { publishedKey: noKey, sign: noKey, algorithms: noKey }

/**
 * Opens the deployment's stores, creates its plugins with live services, runs `work` with what they contribute, and
 * closes all of it. The service may run meanwhile. Throws `ConfigurationError`, `Unavailable`, or what `work` throws.
 */
export const withRegistries = async <T>(
  { config, modules }: CheckedConfiguration,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  work: (registries: Registries, stores: Stores) => Promise<T>,
): Promise<T> => {
  await using stores = await openStores(config, clock)
  const container = root.createChildContainer()
  wire(container)
  container.register(tokens.config, { useValue: config })
  container.register(tokens.clock, { useValue: clock })
  container.register(tokens.log, { useValue: log })
  container.register(tokens.stores, { useValue: stores })
  container.register(tokens.publishedKeys, { useValue: noKeys })
  container.register(tokens.signingKeys, { useValue: noKeys })
  container.register(tokens.audit, { useValue: noAudit })
  const people = config.accounts.map((account) => ({ ...account, password: account.password.reveal() }))
  const accounts = createAccountDirectory({
    static: await staticAccounts(people, container.resolve(tokens.passwords)),
    store: openAccountStore(stores.records),
  })
  container.register(tokens.accounts, { useValue: accounts })
  await using registries = await createRegistries(modules.plugins, container.resolve(tokens.services))
  return await work(registries, stores)
}
