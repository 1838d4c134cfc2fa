import 'reflect-metadata'
import { container as root, type DependencyContainer } from 'tsyringe'
import { ConfigurationError } from '../../config/problems.js'
import { operatorsKnown } from '../operators/operators-known.js'
import type { RunningService } from '../admin-api/running-service.js'
import type { Config } from '../../config/schema.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import type { Disposables } from '../disposables.js'
import { collections } from '../collections/collections.js'
import type { Reload } from '../endpoints/admin/reload.js'
import type { Endpoint } from '../endpoints/endpoint.js'
import { liveAccounts } from '../interaction/account-directory.js'
import type { Pages } from '../interaction/pages/pages.js'
import { createHintKeys } from '../keys/lifecycle/hint-keys.js'
import { createKeyLedger, type KeyLedger } from '../keys/lifecycle/ledger.js'
import { describeHeld, readPublications } from '../keys/lifecycle/publications.js'
import type { KeyRing } from '../keys/ports.js'
import type { SharedProofs } from '../keys/shared-proofs.js'
import { createRegistries, needsLog, type Registries } from '../modules/registries.js'
import { cibaGrant } from '../oauth/ciba/request.js'
import type { ClientDirectory } from '../oauth/clients/client.js'
import { reconcilePairwiseKey } from '../oauth/subjects/pairwise-key.js'
import { notingSeen } from '../oauth/registration/registered-clients.js'
import { actedHere } from '../observe/acted-by.js'
import type { HealthCheck, Readiness } from '../observe/health.js'
import { metricsOf } from '../observe/metrics.js'
import { newRequestIds, type RequestIds } from '../observe/plugin-log.js'
import { registerAudit } from './audit-parts.js'
import { startBackChannel } from './back-channel.js'
import { startPings } from './ciba-pings.js'
import type { Demo } from '../demo/demo.js'
import { followKeys } from './public-key-log.js'
import { liveEndpoints, type Serving } from './endpoint-list.js'
import { closeGeneration, openGeneration, type Generation, type GenerationSources } from './generation.js'
import { createKeyCheck } from './key-check.js'
import { createRunningService } from './running-service.js'
import { tokens, type Resolve } from './injection-tokens.js'
import { observeKeys } from './instruments/key-metrics.js'
import { observeSlots } from './instruments/slot-metrics.js'
import {
  observeCertificates,
  observeDeployment,
  observeRateLimits,
  observeRefusals,
} from './instruments/service-metrics.js'
import { observeStatusLists } from './instruments/status-list-metrics.js'
import { traceSignatures } from './instruments/traced.js'
import type { HostProcess } from './process.js'
import { createReload } from './reload.js'
import { createSlotSource, type SlotSource } from './slot-source.js'
import { createEndSigned } from './end-signed.js'
import { notifyClientsOf } from './people-endpoints.js'
import { createSlotLook, repeatWhileServing } from './watch-slots.js'
import { wire, wireGeneration } from './wiring.js'

/** One issuer, ready to be served. */
export interface Issuer {
  /** The endpoints of the generation that serves. */
  readonly endpoints: readonly Endpoint[]
  pages(): Pages
  readonly reload: Reload
  /** Tells the routes of operators whether the process is ready. Call it once, before they are resolved. */
  admit(readiness: Pick<Readiness, 'report'>): void
  /** Resolves the parts from which routes of the admin listener are made. */
  readonly resolve: Resolve
  readonly requestIds: RequestIds | undefined
  /** Ends what withdrawn keys have signed, as happens every five seconds anyway. Never throws. */
  readonly endSignatures: (signal: AbortSignal) => Promise<void>
  /** Takes the steps of slots that are due now, as happens every five seconds anyway. Never throws. */
  readonly lookAtSlots: () => Promise<void>
  /** Checks that the keys of the issuer can sign. */
  readonly keyCheck: HealthCheck
  /**
   * Begins the work of an issuer that is being served: sends what waits in its outboxes, and records that its
   * configuration is in force. Throws `Unavailable`.
   */
  begin(): Promise<void>
}

export interface IssuerOptions {
  readonly demo?: Demo | undefined
  readonly proofs?: SharedProofs | undefined
  /** Uses the certificates of this configuration for new connections. */
  readonly renewCertificates: (config: Config) => void
}

/** Throws `ConfigurationError` for a `pairwise_key` that would change the subjects of people. */
const checkPairwiseKey = async (get: Resolve): Promise<{ readonly pairwise_key?: 'replaced' }> => {
  const { pairwise_key_replaced: replaced } = get(tokens.config)
  const { secrets } = get(tokens.collections)
  const result = await reconcilePairwiseKey({ secrets, fingerprint: get(tokens.subjects).fingerprint, replaced })
  if (result.outcome === 'refused') throw new ConfigurationError([{ path: 'pairwise_key', message: result.reason }])
  if (result.outcome === 'kept' && replaced)
    get(tokens.log).warn('configuration', {
      path: 'pairwise_key_replaced',
      message: 'pairwise_key_replaced has taken effect; remove it',
    })
  return result.outcome === 'replaced' ? { pairwise_key: 'replaced' } : {}
}

/** Opens the container of the parts that depend on the process and the configuration, and survive reloads. */
const openContainer = (
  { config }: CheckedConfiguration,
  process: HostProcess,
  demo: Demo | undefined,
  disposables: Disposables,
): DependencyContainer => {
  const { clock, log, stores, tracing } = process
  const container = root.createChildContainer()
  wire(container)
  container.register(tokens.config, { useValue: config })
  container.register(tokens.clock, { useValue: clock })
  container.register(tokens.log, { useValue: log })
  container.register(tokens.options, { useValue: { ...(demo && { demo }), tracing } })
  container.register(tokens.stores, { useValue: stores })
  registerAudit(container, process, config, disposables)
  return container
}

/** Registers the parts of a generation through which everything reads, so that a reload replaces them at once. */
const registerLive = (
  container: DependencyContainer,
  current: () => Generation,
  { publications, clock }: GenerationSources,
): void => {
  const { tracing } = container.resolve(tokens.options)
  container.register(tokens.checked, { useValue: () => current().checked })
  container.register(tokens.accounts, { useValue: liveAccounts(() => current().accounts) })
  const clients: ClientDirectory = {
    find: (id) => current().clients.find(id),
    findEnabled: (id) => current().clients.findEnabled(id),
    forget: (id) => current().clients.forget(id),
  }
  container.register(tokens.clients, { useValue: clients })
  const publishedKeys = { publishedKey: (kid: string) => current().ring.publishedKey(kid) }
  container.register(tokens.publishedKeys, { useValue: publishedKeys })
  const signingKeys: Pick<KeyRing, 'sign' | 'algorithms'> = {
    sign: (order) => {
      const { uses, ring } = current()
      return uses.during(traceSignatures(ring, tracing).sign(order))
    },
    algorithms: (purpose) => current().ring.algorithms(purpose),
  }
  container.register(tokens.signingKeys, { useValue: signingKeys })
  container.register(tokens.hintKeys, {
    useValue: createHintKeys({ published: publishedKeys, publications, config: () => current().checked.config, clock }),
  })
}

/** Observes what belongs to the issuer, for the current generation. */
const observeIssuer = (process: HostProcess, get: Resolve, current: () => Generation, slots: SlotSource): void => {
  const inForce = () => current().checked.config
  const metrics = metricsOf(inForce().issuer, process.metrics)
  observeRateLimits(metrics, get(tokens.rateLimits))
  observeStatusLists(metrics, get(tokens.statusLists))
  observeRefusals(metrics, get(tokens.refusals))
  observeDeployment(metrics, inForce)
  observeCertificates(metrics, inForce)
  observeKeys(metrics, () => current().ring.report(), process.clock)
  observeSlots(metrics, slots, inForce)
}

/** Delivers what waits in the outboxes that plugins can fill. */
const startSenders = (
  { signIn, grants }: Registries,
  resolve: Resolve,
  serving: () => Serving,
  disposables: Disposables,
): void => {
  if (signIn.size > 0) {
    const sender = startBackChannel(resolve, serving)
    disposables.add(() => sender.close())
  }
  if (grants.has(cibaGrant)) {
    const pings = startPings(resolve)
    disposables.add(() => pings.close())
  }
}

/**
 * Records that the configuration is in force, and which keys have been removed since the last start. Throws
 * `Unavailable`.
 */
const recordStart = async (
  { audit, log }: HostProcess,
  generation: Generation,
  ledger: KeyLedger,
  changes: { readonly pairwise_key?: 'replaced' },
): Promise<void> => {
  const keys = generation.ring.states().map(({ kid, alg, state }) => ({ kid, alg, state }))
  const loaded = { event: 'configuration.loaded', keys, by: actedHere('start'), ...changes } as const
  await audit.record(loaded, ...operatorsKnown(generation.checked.config))
  for (const { path, message } of await ledger.withdrawMissing()) log.warn('configuration', { path, message })
  await ledger.recordChanges(generation)
}

/**
 * Opens one issuer on what the process has opened: keys, clients, accounts and plugins. What it opens is added to
 * `cleanUp`. Throws `ConfigurationError` when a key or a plugin cannot be used, and `Unavailable`.
 */
export const openIssuer = async (
  checked: CheckedConfiguration,
  process: HostProcess,
  { demo, proofs, renewCertificates }: IssuerOptions,
  disposables: Disposables,
): Promise<Issuer> => {
  const { clock, log, audit, stores } = process
  const container = openContainer(checked, process, demo, disposables)
  const resolve: Resolve = (wanted) => container.resolve(wanted)
  const changes = await checkPairwiseKey(resolve)
  const { publications: store, keySlots, replicas } = collections(stores)
  const publications = await readPublications(store)
  const slots = createSlotSource({
    ...{ clock, monotonic: process.monotonic, log, audit, keySlots, replicas, publications, pool: proofs?.pool },
  })
  const keyLog = followKeys(checked, resolve, process, { publications, slots })
  const passwords = resolve(tokens.passwords)
  const sources = { clock, log, audit, stores, passwords, demo, publications, slots, keyLog, proofs }
  let generation = await openGeneration(checked, sources)
  slots.followed()
  const current = () => generation
  disposables.add(() => closeGeneration(generation))
  for (const { path, message } of generation.inventory().held.map(describeHeld))
    log.warn('configuration', { path, message })
  registerLive(container, current, sources)
  const { plugins } = checked.modules
  const requestIds = plugins.some(needsLog) ? newRequestIds() : undefined
  const registries = disposables.keep(await createRegistries(plugins, resolve(tokens.services), requestIds))
  container.register(tokens.registries, { useValue: registries })
  let serving = servingOf(container, generation)
  const ledger = createKeyLedger({ ...sources, store }, generation)
  // A key is not published unless its publication can be stored.
  await ledger.publish(generation, 'start')
  await generation.reconcileAccounts()
  observeIssuer(process, resolve, current, slots)
  const { reload, refreshKeys, refused } = createReload({
    reopenAudit: () => process.auditFile.reopen(),
    sources,
    ledger,
    serving: current,
    serve: (next) => {
      serving = servingOf(container, next)
      generation = next
    },
    renewCertificates,
  })
  const lookAtSlots = createSlotLook({ slots, serving: current, refreshKeys, audit, log })
  const endSignatures = createEndSigned({
    ...{ slots, kept: collections(stores), config: () => current().checked.config, audit, log },
    notifyClients: notifyClientsOf(resolve),
  })
  let running: RunningService | undefined
  return {
    endpoints: liveEndpoints(() => serving),
    lookAtSlots,
    endSignatures,
    pages: () => serving.pages,
    resolve,
    requestIds,
    keyCheck: createKeyCheck(current, proofs),
    reload,
    admit(readiness) {
      const { secondFactors } = registries
      const parts = { process, current, reload, refusedReload: refused, readiness, secondFactors }
      running = createRunningService(parts)
      container.register(tokens.running, { useValue: running })
    },
    async begin() {
      startSenders(registries, resolve, () => serving, disposables)
      await recordStart(process, generation, ledger, changes)
      disposables.add(ledger.watch(current))
      disposables.add(repeatWhileServing(lookAtSlots))
      disposables.add(repeatWhileServing(endSignatures))
      disposables.add(repeatWhileServing(() => running?.publishFigures() ?? Promise.resolve(), 10_000))
    },
  }
}

/** Returns the endpoints that depend on one generation; everything else comes from the container. */
const servingOf = (container: DependencyContainer, generation: Generation): Serving => {
  const own = container.createChildContainer()
  wireGeneration(own)
  own.register(tokens.config, { useValue: generation.checked.config })
  own.register(tokens.clients, {
    useValue: notingSeen(generation.clients, (client) => own.resolve(tokens.registeredClients).noteSeen(client)),
  })
  own.register(tokens.theme, { useValue: generation.checked.theme })
  own.register(tokens.messages, { useValue: generation.checked.messages })
  own.register(tokens.ring, { useValue: traceSignatures(generation.ring, container.resolve(tokens.options).tracing) })
  const endpoints = new Map(own.resolve(tokens.endpoints).map((endpoint) => [endpoint.path, endpoint]))
  return {
    endpoints,
    pages: own.resolve(tokens.pages),
    uses: generation.uses,
    signLogoutToken: own.resolve(tokens.signLogoutToken),
  }
}
