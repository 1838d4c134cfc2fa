import { createSecureContext } from 'node:tls'
import { operatorsKnown } from '../operators/operators-known.js'
import type { Config } from '../../config/schema.js'
import { ConfigurationError, formatProblem, type Problem } from '../../config/problems.js'
import { findVariables } from '../../config/substitute.js'
import type { JsonObject } from '../json.js'
import type { Reload, ReloadRequest, ReloadResult } from '../endpoints/admin/reload.js'
import type { Log } from '../observe/log.js'
import { Unavailable } from '../unavailable.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { revealed } from './admin-access.js'
import { collections } from '../collections/collections.js'
import { certificatesOf, compareConfigurations, type ConfigChanges } from '../checks/config-changes.js'
import {
  closeGeneration,
  findPrevious,
  openGeneration,
  withSlotKeys,
  type Generation,
  type GenerationSources,
} from './generation.js'
import type { KeyLedger } from '../keys/lifecycle/ledger.js'
import { findEarlyKeys, readPublications } from '../keys/lifecycle/publications.js'
import { findEarlyRemovals, type InForce } from '../keys/lifecycle/removals.js'

export interface ReloadOptions {
  /**
   * Called for each reload request, whatever becomes of the configuration, because log rotation waits for it. Throws
   * `Unavailable`.
   */
  readonly reopenAudit: () => Promise<void>
  readonly sources: GenerationSources
  readonly serving: () => Generation
  /** Serves this generation from the next request on. */
  readonly serve: (generation: Generation) => void
  readonly ledger: KeyLedger
  /** Uses the certificates of this configuration for new connections. */
  readonly renewCertificates: (config: Config) => void
}

const inForce = ({ checked, inventory }: Generation): InForce => ({ config: checked.config, keys: inventory().keys })

/** Finds keys that would no longer be published or able to sign as they are now. */
const findLostKeys = (next: Generation, running: Generation): readonly Problem[] => {
  const previous = findPrevious(running, next.signers)
  return next.ring.report().keys.flatMap(({ kid, state, trust, reason }, index) => {
    const usable = state === 'gone' || (state === 'retired' ? trust !== 'unopened' : trust === 'proved')
    // A key whose signer is unchanged stays as it is, even if it is failing; a newly listed key must work.
    const key = next.ring.find(kid)
    if (usable || (key !== undefined && previous.find(key) !== undefined)) return []
    return [{ path: next.entries[index]?.path ?? 'keys', message: `${kid} does not sign: ${reason ?? trust}` }]
  })
}

/**
 * Finds signers that only other options or a restart can help. An environment variable keeps the value that it had at
 * the start.
 */
const findRefusedSigners = ({ checked, signers }: Generation): readonly Problem[] =>
  [...signers].flatMap(([name, { providers }]) => {
    const refusal = providers.byName.get(name)?.refusal
    if (refusal === undefined) return []
    const variables = [...new Set(findVariables(checked.config.signers[name]?.options))]
    const remedy =
      variables.length === 0
        ? 'correct its options, and reload'
        : `a reload does not see new values of ${variables.join(', ')}: restart Signet, or use $file in the place of $env`
    return [{ path: `signers.${name}`, message: `signs nothing and has stopped trying: ${refusal}; ${remedy}` }]
  })

/** The keys that only the running generation has. */
const findRemoved = (running: Generation, next: Generation): readonly string[] => {
  const kept = new Set(next.entries.map(({ kid }) => kid))
  return running.entries.flatMap(({ kid }) => (kept.has(kid) ? [] : [kid]))
}

/** An algorithm takes over only when a key can already sign with it. */
const findIdleAlgorithms = (next: Generation, { algorithms }: ConfigChanges): readonly Problem[] =>
  algorithms.flatMap((path) => {
    const alg = next.checked.config[path]
    const purpose = path === 'access_token_signing_alg' ? 'access_token' : 'id_token'
    const signs = next.ring
      .states()
      .some((key) => key.state === 'active' && key.alg === alg && key.purposes.includes(purpose))
    return signs ? [] : [{ path, message: `no key signs ${purpose} with ${alg} yet` }]
  })

/** Finds pairs that OpenSSL does not accept, for instance a key that belongs to another certificate. */
const findBrokenCertificates = (config: Config, { certificates }: ConfigChanges): readonly Problem[] =>
  certificates.flatMap((name) => {
    const tls = revealed(certificatesOf(config)[name])
    if (tls === undefined) return []
    try {
      createSecureContext(tls)
      return []
    } catch {
      return [{ path: `${name}.tls`, message: 'certificate and key do not belong together, or cannot be read' }]
    }
  })

const needsRestart = ({ restart }: ConfigChanges): readonly Problem[] =>
  restart.map((path) => ({ path, message: 'differs from the running configuration and needs a restart' }))

const refused = (problems: readonly Problem[]): ReloadResult => ({ outcome: 'refused', problems })

/** Says in the log what became of a reload. */
const logged = (result: ReloadResult, log: Log): ReloadResult => {
  if (result.outcome === 'refused') {
    log.warn('The configuration was not reloaded', { problems: result.problems.map(formatProblem) })
  } else if (result.outcome === 'reloaded') {
    log.info('The configuration was reloaded', { changes: result.changes })
    for (const { path, message } of result.forced) log.warn('A key was removed by force', { path, message })
  } else log.info('Configuration unchanged')
  if (result.outcome !== 'refused')
    for (const { path, message } of result.warnings) log.warn('configuration', { path, message })
  return result
}

/** A reload at the request of an operator, and one that only takes the keys that slots have now. */
export interface Reloads {
  readonly reload: Reload
  /** Throws `ConfigurationError` when a key cannot be published, and `Unavailable`; the keys then stay as they are. */
  refreshKeys(): Promise<void>
  /** The problems of the last reload, if it was refused. */
  refused(): readonly Problem[]
}

/** Runs one piece of work at a time: each replaces the generation that it has read. */
const takeTurns = () => {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}

export const createReload = (options: ReloadOptions): Reloads => {
  const { sources, serving, serve, ledger } = options
  const { clock, log, audit, stores, publications } = sources
  const store = collections(stores).publications

  const exchange = async (
    next: Generation,
    running: Generation,
    changes: ConfigChanges,
    { force, by }: ReloadRequest,
  ) => {
    const now = clock()
    const removals = findEarlyRemovals(inForce(running), inForce(next), now)
    const waiting = new Set(running.inventory().held.map(({ kid }) => kid))
    const changed = changes.sections.keys?.changed ?? []
    const early = findEarlyKeys(next.inventory(), (kid) => waiting.has(kid) && !changed.includes(kid))
    const idle = findIdleAlgorithms(next, changes)
    const broken = findBrokenCertificates(next.checked.config, changes)
    const problems = [...findLostKeys(next, running), ...broken, ...idle, ...early, ...(force ? [] : removals)]
    if (problems.length > 0) throw new ConfigurationError(problems)
    // A generation that cannot be stored and recorded is not published.
    await ledger.publish(next, 'reload')
    await next.reconcileAccounts()
    const keys = next.ring.states().map(({ kid, alg, state }) => ({ kid, alg, state }))
    const known = operatorsKnown(next.checked.config)
    await audit.record({ event: 'configuration.loaded', keys, changes: describeChanges(changes), force, by }, ...known)
    serve(next)
    if (changes.certificates.length > 0) options.renewCertificates(next.checked.config)
    await ledger.withdraw(findRemoved(running, next)).catch(later)
    await ledger.recordChanges(next).catch(later)
    return removals
  }

  /** The reload has already happened, so errors can no longer refuse it. */
  const later = (error: unknown): void => log.error('The audit log does not have all of a reload', {}, error)

  const reload = async (request: ReloadRequest): Promise<ReloadResult> => {
    await options.reopenAudit()
    const running = serving()
    let checked: CheckedConfiguration
    try {
      checked = await running.checked.again()
    } catch (error) {
      if (error instanceof ConfigurationError) return refused(error.problems)
      throw error
    }
    const changes = compareConfigurations(running.checked, checked)
    if (changes.restart.length > 0) return refused(needsRestart(changes))
    const { sections, algorithms, certificates, reordered } = changes
    const isSame = Object.keys(sections).length + algorithms.length + certificates.length === 0 && !reordered
    if (isSame) return { outcome: 'unchanged', warnings: findRefusedSigners(running) }
    for (const [kid, publication] of await readPublications(store)) publications.set(kid, publication)
    let next: Generation | undefined
    try {
      next = await openGeneration(checked, sources, running)
      const forced = await exchange(next, running, changes, request)
      void closeGeneration(running, next)
      return { outcome: 'reloaded', changes: describeChanges(changes), forced, warnings: findRefusedSigners(next) }
    } catch (error) {
      if (next !== undefined) await closeGeneration(next, running)
      if (error instanceof ConfigurationError) return refused(error.problems)
      throw error
    }
  }

  const refreshKeys = async (): Promise<void> => {
    const running = serving()
    const next = await withSlotKeys(running, sources)
    try {
      await ledger.publish(next, 'slots')
    } catch (error) {
      await closeGeneration(next, running)
      throw error
    }
    serve(next)
    await ledger.withdraw(findRemoved(running, next)).catch(later)
    await ledger.recordChanges(next).catch(later)
    void closeGeneration(running, next)
  }

  const inTurn = takeTurns()
  let problems: readonly Problem[] = []
  return {
    refused: () => problems,
    refreshKeys: () => inTurn(refreshKeys),
    reload: async (request) => {
      try {
        const result = logged(await inTurn(() => reload(request)), log)
        problems = result.outcome === 'refused' ? result.problems : []
        return result
      } catch (error) {
        if (error instanceof Unavailable) log.warn('The configuration was not reloaded', { problems: [error.message] })
        else log.error('A reload failed', {}, error)
        throw error
      }
    },
  }
}

/** Accounts are only counted, because names of people must not appear in logs. */
const describeChanges = ({ sections, reordered, algorithms, certificates }: ConfigChanges): JsonObject => {
  const { accounts, ...named } = sections
  const counted = accounts && {
    added: accounts.added.length,
    removed: accounts.removed.length,
    changed: accounts.changed.length,
  }
  const shown = Object.fromEntries(Object.entries(named).map(([name, change]) => [name, { ...change }]))
  return {
    ...shown,
    ...(counted && { accounts: counted }),
    ...(reordered && { keys_reordered: true }),
    ...(algorithms.length > 0 && { algorithms }),
    ...(certificates.length > 0 && { certificates }),
  }
}
