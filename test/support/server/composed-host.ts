import 'reflect-metadata'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { container as root } from 'tsyringe'
import { stringify } from 'yaml'
import type { Clock } from '../../../core/clock.js'
import { checkConfiguration } from '../../../core/host/checks/check-configuration.js'
import { createClientDirectory } from '../../../core/host/client-directory.js'
import { collections } from '../../../core/host/collections.js'
import { openRing } from '../../../core/keys/lifecycle/open-ring.js'
import { createRegistries, createSignerProviders } from '../../../core/modules/registries.js'
import { serve } from '../../../core/host/serve.js'
import { openStores, type Stores } from '../../../core/host/stores.js'
import { tokens } from '../../../core/host/injection-tokens.js'
import { wire, wireGeneration } from '../../../core/host/wiring.js'
import { createRefusals } from '../../../core/endpoints/refusals.js'
import { routes } from '../../../core/http/routes.js'
import { createAccountDirectory, openAccountStore, staticAccounts } from '../../../core/interaction/accounts.js'
import { openAudit } from '../../../core/observe/audit-file.js'
import { createReadiness } from '../../../core/observe/health.js'
import { createMetrics } from '../../../core/observe/metrics.js'
import { noLog, type Log } from '../../../core/observe/log.js'
import type { AuditLog } from '../../../core/observe/audit.js'
import type { StorageBackend } from '../../../core/storage/ports.js'
import { freePort } from '../free-port.js'
import { testConfiguration, type TestServer, type TestServerOptions } from './server.js'

export interface Doubles {
  /** What stands between the core and its store. */
  readonly store: (sound: StorageBackend) => StorageBackend
  readonly audit?: (sound: AuditLog) => AuditLog
}

interface Given extends Doubles {
  readonly clock: Clock
  readonly log: Log
}

/** The product as `startHost` composes it, with a double between it and its store or its audit log. */
export const startWithDoubles = async (file: string, { clock, log, store, audit }: Given) => {
  const { config, clients, modules } = await checkConfiguration(file, {})
  const container = root.createChildContainer()
  wire(container)
  wireGeneration(container)
  container.register(tokens.config, { useValue: config })
  container.register(tokens.clock, { useValue: clock })
  container.register(tokens.log, { useValue: log })
  container.register(tokens.options, { useValue: {} })
  const auditFile = await openAudit(config.audit, clock)
  const auditLog = audit?.(auditFile) ?? auditFile
  container.register(tokens.audit, { useValue: auditLog })
  const opened = await openStores(config, clock)
  const records = store(opened.records)
  const stores: Stores = { ...opened, records, ephemeral: records }
  container.register(tokens.stores, { useValue: stores })
  const limits = container.resolve(tokens.rateLimits)
  const refusals = createRefusals({ audit: auditLog, hasRoom: () => auditFile.hasRoom(), limits })
  container.register(tokens.refusals, { useValue: refusals })
  container.register(tokens.clients, { useValue: createClientDirectory(clients, collections(stores).clients) })
  const people = config.accounts.map((account) => ({ ...account, password: account.password.reveal() }))
  const accounts = await staticAccounts(people, container.resolve(tokens.passwords))
  const directory = createAccountDirectory({ static: accounts, store: openAccountStore(records) })
  container.register(tokens.accounts, { useValue: directory })
  const signers = await createSignerProviders(modules.signers, { clock, log })
  const ring = await openRing(config, signers.byName, clock, { inProcess: signers.inProcess })
  container.register(tokens.ring, { useValue: ring })
  container.register(tokens.publishedKeys, { useValue: ring })
  const registries = await createRegistries(modules.plugins, container.resolve(tokens.services))
  container.register(tokens.registries, { useValue: registries })
  const readiness = createReadiness(clock, log)
  const table = routes(config.issuer, container.resolve(tokens.endpoints))
  const pages = container.resolve(tokens.pages)
  const reload = () => Promise.resolve({ outcome: 'unchanged' } as const)
  const listeners = await serve({ config, log, pages, routes: table, readiness, reload, metrics: createMetrics() })
  return {
    issuer: config.issuer,
    async [Symbol.asyncDispose]() {
      await listeners.public.close(0)
      await listeners.admin.close(0)
      readiness.close()
      await registries[Symbol.asyncDispose]()
      await ring[Symbol.asyncDispose]()
      await signers[Symbol.asyncDispose]()
      await opened[Symbol.asyncDispose]()
      await refusals[Symbol.asyncDispose]()
      await auditFile[Symbol.asyncDispose]()
    },
  }
}

/** As `startServer`, with doubles. */
export const startServerWithDoubles = async (
  { configure = (written) => written, clock = Date.now, log = noLog }: TestServerOptions,
  doubles: Doubles,
): Promise<TestServer> => {
  const directory = await mkdtemp(join(tmpdir(), 'signet-doubles-'))
  const file = join(directory, 'signet.yaml')
  await writeFile(file, stringify(configure(testConfiguration(directory, await freePort()))))
  const host = await startWithDoubles(file, { clock, log, ...doubles })
  return {
    issuer: host.issuer,
    admin: '',
    directory,
    async audit() {
      const text = await readFile(join(directory, 'audit.jsonl'), 'utf8')
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, unknown>]))
    },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
