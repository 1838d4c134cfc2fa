import { formatPath, type Problem, ConfigurationError } from '../../config/problems.js'
import type { AttestationStatusProvider, EvidenceVerifier, SecondFactorVerifier } from '../attestation/ports.js'
import type { FactorEnrolment, PasskeyEnrolment, TotpEnrolment } from '../interaction/factors/factor-enrolment.js'
import type { ConsentMethod } from '../interaction/consent-method.js'
import type { PasswordChange, PasswordReset } from '../interaction/password-change.js'
import type { SignInMethod } from '../interaction/sign-in-method.js'
import type { SignerProvider } from '../keys/ports.js'
import type { AccountLookup } from '../oauth/subjects/account.js'
import { hasSubject, joinAccounts, type HasSubject } from '../oauth/subjects/account.js'
import type { AuthorizationDetailsType, AuthorizationDetailsTypes } from '../oauth/requests/authorization-details.js'
import type { ApprovalNotifier } from '../oauth/ciba/notifier.js'
import type { ClientAuthenticator } from '../oauth/clients/client-authenticator.js'
import type { GrantHandler } from '../oauth/grants/grant.js'
import { createPluginLog, type RequestIds } from '../observe/plugin-log.js'
import { Unavailable } from '../unavailable.js'
import { CleanUp } from '../clean-up.js'
import { findContributionFault } from './contribution-faults.js'
import type { LoadedPlugin, LoadedSigner } from './load-modules.js'
import { describeFailure } from '../plugin-failure.js'
import type { Contributions, Services, SignerServices } from './contract.js'

/** What the plugins provide. A name from a request is only ever a key of one of these maps; they cannot be changed. */
export interface Registries extends AsyncDisposable {
  /** By `grant_type`. */
  readonly grants: ReadonlyMap<string, GrantHandler>
  /** By `token_endpoint_auth_method`. */
  readonly clientAuthenticators: ReadonlyMap<string, ClientAuthenticator>
  /** By `id`, in the order of the configuration. */
  readonly signIn: ReadonlyMap<string, SignInMethod>
  /** What all plugins know of people. */
  readonly accounts?: AccountLookup
  /** Whether an account of the deployment has the subject: one of a plugin whose people sign in on the page. */
  readonly isLocalSubject: HasSubject
  readonly consent?: ConsentMethod
  readonly passwordChange?: PasswordChange
  readonly passwordReset?: PasswordReset
  /** By `kind`. */
  readonly factorEnrolments: { readonly passkey?: PasskeyEnrolment; readonly totp?: TotpEnrolment }
  /** By `kind`. */
  readonly secondFactors: ReadonlyMap<string, SecondFactorVerifier>
  readonly statusProvider?: AttestationStatusProvider
  /** By `kind`. */
  readonly evidence: ReadonlyMap<string, EvidenceVerifier>
  /** By `name`. */
  readonly approvalNotifiers: ReadonlyMap<string, ApprovalNotifier>
  /** Some plugin reads and writes who was enrolled. */
  readonly keepsPrincipals: boolean
  /** By `type`. */
  readonly authorizationDetails: AuthorizationDetailsTypes
  /** What each plugin has signed, and where the configuration names the plugin. */
  readonly signedRequests: readonly SignedRequestNeed[]
}

type SignedRequestNeed = NonNullable<Contributions['signedRequests']>[number] & {
  readonly plugin: string
  readonly path: string
}

/** Does the plugin read and write who was enrolled? Without such a one nobody does. */
export const keepsPrincipals = ({ module }: LoadedPlugin): boolean => module.needs?.includes('principals') === true

const refuseChange = (): never => {
  throw new TypeError('A registry cannot be changed.')
}

/** `Object.freeze` alone leaves a Map's own slots open. */
const freezeMap = <K, V>(map: Map<K, V>): ReadonlyMap<K, V> =>
  Object.freeze(Object.assign(map, { set: refuseChange, delete: refuseChange, clear: refuseChange }))

/** Collects contributions by name; a name that two modules add is a problem that names both. */
class Registry<T> {
  readonly entries = new Map<string, T>()
  readonly #owners = new Map<string, LoadedPlugin>()
  readonly #noun: string

  constructor(noun: string) {
    this.#noun = noun
  }

  add(name: string, value: T, owner: LoadedPlugin): Problem[] {
    const other = this.#owners.get(name)
    if (other !== undefined) {
      const message = `${owner.module.name} provides the ${this.#noun} ${name}, which ${other.module.name} (${other.path}) provides already`
      return [{ path: owner.path, message }]
    }
    this.#owners.set(name, owner)
    this.entries.set(name, value)
    return []
  }
}

const byKind = (enrolments: Iterable<FactorEnrolment>): Registries['factorEnrolments'] => {
  const all = [...enrolments]
  const passkey = all.find((one) => one.kind === 'passkey')
  const totp = all.find((one) => one.kind === 'totp')
  return Object.freeze({ ...(passkey && { passkey }), ...(totp && { totp }) })
}

const pick = (services: Services, needs: LoadedPlugin['module']['needs']): Services =>
  Object.freeze(Object.fromEntries((needs ?? []).map((need) => [need, services[need]]))) as unknown as Services

/** An outage is no mistake in the file: it goes on as it is. */
/** Its lines have the id of the request that it works for. */
export const needsLog = ({ module }: LoadedPlugin): boolean => module.needs?.includes('log') === true

const explainFailure = async (error: unknown, { mask }: Pick<LoadedPlugin, 'mask'>): Promise<Omit<Problem, 'path'>> => {
  if (error instanceof Unavailable) throw error
  const { message, stack } = await describeFailure(error)
  return { message: `could not be created: ${mask(message)}`, ...(stack !== undefined && { stack: mask(stack) }) }
}

/**
 * Creates what the plugins contribute, in the order of the configuration, each with the services that it needs and no
 * others. Throws `ConfigurationError` with every problem, or `Unavailable`; then all that was created is closed again,
 * in reverse. With `requestIds`, lines of a plugin's log have the id of the request that it works for.
 */
export const createRegistries = async (
  plugins: readonly LoadedPlugin[],
  outside: Omit<Services, 'secondFactors'>,
  requestIds?: RequestIds,
): Promise<Registries> => {
  const cleanUp = new CleanUp()
  const problems: Problem[] = []
  const grants = new Registry<GrantHandler>('grant')
  const clientAuthenticators = new Registry<ClientAuthenticator>('client authentication method')
  const methods = new Registry<SignInMethod>('sign-in method')
  const consents = new Registry<ConsentMethod>('page for')
  const passwordChanges = new Registry<PasswordChange>('change of passwords')
  const passwordResets = new Registry<PasswordReset>('reset of passwords')
  const factorEnrolments = new Registry<FactorEnrolment>('enrolment of the factor')
  const lookups: AccountLookup[] = []
  const localLookups: AccountLookup[] = []
  const secondFactors = new Registry<SecondFactorVerifier>('second factor')
  const evidence = new Registry<EvidenceVerifier>('kind of evidence')
  const approvalNotifiers = new Registry<ApprovalNotifier>('approval notifier')
  const detailsTypes = new Registry<AuthorizationDetailsType>('type of authorization_details')
  const signedRequests: SignedRequestNeed[] = []
  const statusProviders = new Registry<AttestationStatusProvider>('status')

  const services: Services = { ...outside, secondFactors: { get: (kind) => secondFactors.entries.get(kind) } }
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
    if (contributions.close !== undefined) cleanUp.add(contributions.close.bind(contributions))
    for (const grant of contributions.grants ?? []) problems.push(...grants.add(grant.grantType, grant, plugin))
    for (const item of contributions.clientAuthenticators ?? [])
      problems.push(...clientAuthenticators.add(item.method, item, plugin))
    for (const method of contributions.signIn ?? []) problems.push(...methods.add(method.id, method, plugin))
    if (contributions.accounts !== undefined) {
      lookups.push(contributions.accounts)
      if (contributions.signIn?.some(({ kind }) => kind !== 'redirect')) localLookups.push(contributions.accounts)
    }
    if (contributions.consent !== undefined) problems.push(...consents.add('consent', contributions.consent, plugin))
    if (contributions.passwordChange !== undefined)
      problems.push(...passwordChanges.add('decision', contributions.passwordChange, plugin))
    if (contributions.passwordReset !== undefined)
      problems.push(...passwordResets.add('decision', contributions.passwordReset, plugin))
    const { factorEnrolment } = contributions
    if (factorEnrolment !== undefined)
      problems.push(...factorEnrolments.add(factorEnrolment.kind, factorEnrolment, plugin))
    for (const factor of contributions.secondFactors ?? [])
      problems.push(...secondFactors.add(factor.kind, factor, plugin))
    for (const one of contributions.evidence ?? []) problems.push(...evidence.add(one.kind, one, plugin))
    for (const one of contributions.approvalNotifiers ?? [])
      problems.push(...approvalNotifiers.add(one.name, one, plugin))
    for (const one of contributions.authorizationDetails ?? [])
      problems.push(...detailsTypes.add(one.type, one, plugin))
    for (const one of contributions.signedRequests ?? []) signedRequests.push({ ...one, plugin: module.name, path })
    const { statusProvider } = contributions
    if (statusProvider !== undefined) problems.push(...statusProviders.add('provider', statusProvider, plugin))
  }

  try {
    for (const plugin of plugins) await create(plugin)
    if (problems.length > 0) throw new ConfigurationError(problems)
  } catch (error) {
    // Why the start failed matters more than what else went wrong then.
    await cleanUp.close().catch(() => undefined)
    throw error
  }
  const accounts = joinAccounts(lookups)
  const consent = consents.entries.get('consent')
  const passwordChange = passwordChanges.entries.get('decision')
  const passwordReset = passwordResets.entries.get('decision')
  const statusProvider = statusProviders.entries.get('provider')
  return Object.freeze({
    grants: freezeMap(grants.entries),
    clientAuthenticators: freezeMap(clientAuthenticators.entries),
    signIn: freezeMap(methods.entries),
    ...(accounts !== undefined && { accounts }),
    isLocalSubject: hasSubject(localLookups),
    ...(consent !== undefined && { consent }),
    ...(passwordChange !== undefined && { passwordChange }),
    ...(passwordReset !== undefined && { passwordReset }),
    factorEnrolments: byKind(factorEnrolments.entries.values()),
    secondFactors: freezeMap(secondFactors.entries),
    ...(statusProvider !== undefined && { statusProvider }),
    evidence: freezeMap(evidence.entries),
    approvalNotifiers: freezeMap(approvalNotifiers.entries),
    keepsPrincipals: plugins.some(keepsPrincipals),
    authorizationDetails: freezeMap(detailsTypes.entries),
    signedRequests: Object.freeze(signedRequests),
    [Symbol.asyncDispose]: () => cleanUp.close(),
  })
}

/** The configured backends that hold keys, by the configuration's names. */
export interface SignerProviders extends AsyncDisposable {
  readonly byName: ReadonlyMap<string, SignerProvider>
  /** Those whose keys are held by this process. */
  readonly inProcess: ReadonlySet<string>
}

/** As `createRegistries`, for signers. */
export const createSignerProviders = async (
  signers: ReadonlyMap<string, LoadedSigner>,
  services: SignerServices,
): Promise<SignerProviders> => {
  const cleanUp = new CleanUp()
  const problems: Problem[] = []
  const byName = new Map<string, SignerProvider>()
  const own: SignerServices = Object.freeze({ clock: services.clock, log: services.log })
  try {
    for (const [name, signer] of signers) {
      try {
        const provider = await signer.module.create(signer.options, own)
        cleanUp.add(() => provider[Symbol.asyncDispose]())
        byName.set(name, provider)
      } catch (error) {
        problems.push({ path: formatPath(['signers', name]), ...(await explainFailure(error, signer)) })
      }
    }
    if (problems.length > 0) throw new ConfigurationError(problems)
  } catch (error) {
    // Why the start failed matters more than what else went wrong then.
    await cleanUp.close().catch(() => undefined)
    throw error
  }
  const inProcess = new Set([...signers].flatMap(([name, { module }]) => (module.inProcess === true ? [name] : [])))
  return Object.freeze({ byName: freezeMap(byName), inProcess, [Symbol.asyncDispose]: () => cleanUp.close() })
}
