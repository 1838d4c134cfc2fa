import { formatPath } from '../format-path.js'
import { type Problem, ConfigurationError } from '../../config/problems.js'
import type { FactorEnrolment, PasskeyEnrolment, TotpEnrolment } from '../interaction/factors/factor-enrolment.js'
import type { SignerProvider } from '../keys/ports.js'
import type { AccountLookup } from '../oauth/subjects/account.js'
import { hasSubject, joinAccounts, type HasSubject } from '../oauth/subjects/account.js'
import { createPluginLog, type RequestIds } from '../observe/plugin-log.js'
import { Unavailable } from '../unavailable.js'
import { Disposables } from '../disposables.js'
import {
  findContributionFault,
  kinds,
  listContributions,
  type ItemOf,
  type Kind,
  type KindName,
  type Registered,
} from './contribution-kinds.js'
import type { LoadedPlugin, LoadedSigner } from './load-modules.js'
import { describeFailure } from '../plugin-failure.js'
import type { Contributions, Services, SignerServices } from './contract.js'

/** What the plugins provide. A name from a request is only used as a key of one of these maps, which are immutable. */
export interface Registries extends Registered, AsyncDisposable {
  /** Combines the account lookups of all plugins. */
  readonly accounts?: AccountLookup
  /** Whether the subject is an account of the deployment, that is, of a plugin whose people sign in on the page. */
  readonly isLocalSubject: HasSubject
  /** Keyed by `kind`. */
  readonly factorEnrolments: { readonly passkey?: PasskeyEnrolment; readonly totp?: TotpEnrolment }
  /** Whether some plugin reads and writes the enrolled principals. */
  readonly keepsPrincipals: boolean
  /** What each plugin has signed, and where the configuration names the plugin. */
  readonly signedRequests: readonly SignedRequestNeed[]
}

type SignedRequestNeed = ItemOf<'signedRequests'> & {
  readonly plugin: string
  readonly path: string
}

/** Whether the plugin reads and writes the enrolled principals. Without such a plugin nothing does. */
export const keepsPrincipals = ({ module }: LoadedPlugin): boolean => module.needs?.includes('principals') === true

const refuseChange = (): never => {
  throw new TypeError('A registry cannot be changed.')
}

/** `Object.freeze` alone leaves a Map's own slots open. */
const freezeMap = <K, V>(map: Map<K, V>): ReadonlyMap<K, V> =>
  Object.freeze(Object.assign(map, { set: refuseChange, delete: refuseChange, clear: refuseChange }))

/** Collects contributions of a kind by name. A name added by two modules is a problem that names both. */
class Registry<T> {
  readonly entries = new Map<string, T>()
  readonly kind: Kind
  readonly #owners = new Map<string, LoadedPlugin>()

  constructor(kind: Kind) {
    this.kind = kind
  }

  add(value: T, owner: LoadedPlugin): Problem[] {
    const { provided, by } = this.kind
    if (provided === undefined) return []
    const name = by === undefined ? '' : String((value as Readonly<Record<string, unknown>>)[by])
    const other = this.#owners.get(name)
    if (other !== undefined) {
      const what = by === undefined ? provided : `${provided} ${name}`
      const message = `${owner.module.name} provides the ${what}, which ${other.module.name} (${other.path}) provides already`
      return [{ path: owner.path, message }]
    }
    this.#owners.set(name, owner)
    this.entries.set(name, value)
    return []
  }
}

type Collected = { readonly [Name in KindName]: Registry<ItemOf<Name>> }

const emptyRegistries = (): Collected =>
  Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, new Registry(kind)])) as unknown as Collected

const readRegistries = (collected: Collected): Registered =>
  Object.fromEntries(
    Object.entries(collected).flatMap(([name, { kind, entries }]): [string, unknown][] => {
      if (kind.joined) return []
      return kind.many ? [[name, freezeMap<string, unknown>(entries)]] : [...entries.values()].map((one) => [name, one])
    }),
  ) as unknown as Registered

const byKind = (enrolments: Iterable<FactorEnrolment>): Registries['factorEnrolments'] => {
  const all = [...enrolments]
  const passkey = all.find((one) => one.kind === 'passkey')
  const totp = all.find((one) => one.kind === 'totp')
  return Object.freeze({ ...(passkey && { passkey }), ...(totp && { totp }) })
}

const pick = (services: Services, needs: LoadedPlugin['module']['needs']): Services =>
  Object.freeze(Object.fromEntries((needs ?? []).map((need) => [need, services[need]]))) as unknown as Services

/** Log lines of such a plugin carry the id of the request that it works for. */
export const needsLog = ({ module }: LoadedPlugin): boolean => module.needs?.includes('log') === true

/** Explains why a plugin could not be created. An outage is not a mistake in the file, so it is rethrown. */
const explainFailure = async (error: unknown, { mask }: Pick<LoadedPlugin, 'mask'>): Promise<Omit<Problem, 'path'>> => {
  if (error instanceof Unavailable) throw error
  const { message, stack } = await describeFailure(error)
  return { message: `could not be created: ${mask(message)}`, ...(stack !== undefined && { stack: mask(stack) }) }
}

/**
 * Creates what the plugins contribute, in the order of the configuration, each with exactly the services that it
 * needs. Throws `ConfigurationError` with every problem, or `Unavailable`; everything created is then closed in
 * reverse order. With `requestIds`, a plugin's log lines carry the id of the request that it works for.
 */
export const createRegistries = async (
  plugins: readonly LoadedPlugin[],
  outside: Omit<Services, 'secondFactors'>,
  requestIds?: RequestIds,
): Promise<Registries> => {
  const disposables = new Disposables()
  const problems: Problem[] = []
  const collected = emptyRegistries()
  const accepted: { readonly plugin: LoadedPlugin; readonly contributions: Contributions }[] = []

  const services: Services = { ...outside, secondFactors: { get: (kind) => collected.secondFactors.entries.get(kind) } }
  const create = async (plugin: LoadedPlugin): Promise<void> => {
    const { module, options, path } = plugin
    let contributions: Contributions
    try {
      const log = createPluginLog(services.log, module.name, requestIds)
      contributions = await module.create(options, pick({ ...services, log }, module.needs))
    } catch (error) {
      problems.push({ path, ...(await explainFailure(error, plugin)) })
      return
    }
    const fault = findContributionFault(contributions)
    if (fault !== undefined) {
      problems.push({ path, message: `${module.name}: ${fault}` })
      return
    }
    if (contributions.close !== undefined) disposables.add(contributions.close.bind(contributions))
    accepted.push({ plugin, contributions })
    for (const { name, one } of listContributions(contributions)) {
      const registry: Registry<unknown> = collected[name]
      problems.push(...registry.add(one, plugin))
    }
  }

  try {
    for (const plugin of plugins) await create(plugin)
    if (problems.length > 0) throw new ConfigurationError(problems)
  } catch (error) {
    // The cause of the failed start matters more than errors while closing.
    await disposables.close().catch(() => undefined)
    throw error
  }
  const lookupsOf = (from: typeof accepted) =>
    from.flatMap(({ contributions: { accounts } }) => (accounts === undefined ? [] : [accounts]))
  const accounts = joinAccounts(lookupsOf(accepted))
  const local = accepted.filter(({ contributions }) => contributions.signIn?.some(({ kind }) => kind !== 'redirect'))
  return Object.freeze({
    ...readRegistries(collected),
    ...(accounts !== undefined && { accounts }),
    isLocalSubject: hasSubject(lookupsOf(local)),
    factorEnrolments: byKind(collected.factorEnrolment.entries.values()),
    keepsPrincipals: plugins.some(keepsPrincipals),
    signedRequests: Object.freeze(
      accepted.flatMap(({ plugin: { module, path }, contributions }) =>
        (contributions.signedRequests ?? []).map((one) => ({ ...one, plugin: module.name, path })),
      ),
    ),
    [Symbol.asyncDispose]: () => disposables.close(),
  })
}

/** The configured signing backends, by their names in the configuration. */
export interface SignerProviders extends AsyncDisposable {
  readonly byName: ReadonlyMap<string, SignerProvider>
  /** Signers whose keys this process holds. */
  readonly inProcess: ReadonlySet<string>
}

/** Like `createRegistries`, for signers. */
export const createSignerProviders = async (
  signers: ReadonlyMap<string, LoadedSigner>,
  services: SignerServices,
): Promise<SignerProviders> => {
  const disposables = new Disposables()
  const problems: Problem[] = []
  const byName = new Map<string, SignerProvider>()
  const own: SignerServices = Object.freeze({ clock: services.clock, log: services.log })
  try {
    for (const [name, signer] of signers) {
      try {
        const provider = await signer.module.create(signer.options, own)
        disposables.add(() => provider[Symbol.asyncDispose]())
        byName.set(name, provider)
      } catch (error) {
        problems.push({ path: formatPath(['signers', name]), ...(await explainFailure(error, signer)) })
      }
    }
    if (problems.length > 0) throw new ConfigurationError(problems)
  } catch (error) {
    // The cause of the failed start matters more than errors while closing.
    await disposables.close().catch(() => undefined)
    throw error
  }
  const inProcess = new Set([...signers].flatMap(([name, { module }]) => (module.inProcess === true ? [name] : [])))
  return Object.freeze({ byName: freezeMap(byName), inProcess, [Symbol.asyncDispose]: () => disposables.close() })
}
