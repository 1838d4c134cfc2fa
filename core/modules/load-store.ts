import { dirname } from 'node:path'
import { findNearMiss } from '../near-miss.js'
import type { Salvaged } from '../../config/explain.js'
import type { Problem } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import { storageContractVersion } from '../storage/contract-version.js'
import type { EphemeralBackend, StorageBackend } from '../storage/ports.js'
import { checkOptions, findModuleFaults, importModule, maskOf } from './load-modules.js'
import { listBuiltIn, resolveSpecifier, type ResolvedSpecifier } from './module-specifier.js'
import { explainMissing } from './missing-package.js'
import { resolvePackage } from './resolve-package.js'
import type { StoreModule } from './contract.js'

type Choices = Config['storage']
export type StoreRole = keyof Choices
export type StoreChoice = Choices[StoreRole]

/** What the store of each role opens. */
interface Backends {
  readonly records: StorageBackend
  readonly ephemeral: EphemeralBackend
}

/** A store module that was found, and its parsed options. */
export interface LoadedStore<Backend> {
  readonly module: StoreModule<unknown, Backend>
  readonly file: string
  readonly builtIn: boolean
  readonly options: unknown
}

type Loading<Backend> =
  | { readonly store: LoadedStore<Backend>; readonly problems: readonly [] }
  | { readonly store?: never; readonly problems: readonly Problem[] }

/** The name of a built-in store, or anything that `resolveSpecifier` accepts. */
const resolveStore = (use: string, directory: string): ResolvedSpecifier => {
  const names = listBuiltIn('stores').map((specifier) => specifier.slice('stores/'.length))
  if (names.includes(use)) return resolveSpecifier('stores', `stores/${use}`, directory)
  const near = findNearMiss(use, names)
  if (near !== undefined) return { fault: `must be one of ${names.join(', ')}; did you mean \`${near}\`?` }
  const resolved = resolveSpecifier('stores', use, directory)
  return 'fault' in resolved ? { fault: `${resolved.fault}; the built-in stores are ${names.join(', ')}` } : resolved
}

/** A store that was not shown to keep today's rules is not trusted with codes. */
const findContractFault = (contract: unknown): string | undefined => {
  if (contract === storageContractVersion) return undefined
  const asked = `this program needs ${String(storageContractVersion)}: run checkStorage of signet-idp/testing on it`
  return typeof contract === 'number'
    ? `passed version ${String(contract)} of the storage contract; ${asked}`
    : `does not declare which version of the storage contract it passed; ${asked}`
}

const findRolesFault = (name: unknown, roles: unknown, role: StoreRole): string | undefined => {
  if (roles === undefined) return undefined
  if (!Array.isArray(roles) || roles.length !== 1 || roles[0] !== 'ephemeral')
    return "has roles that are not ['ephemeral']"
  return role === 'ephemeral'
    ? undefined
    : `${String(name)}: only for storage.ephemeral; it may lose what it has acknowledged`
}

const findFaults = (exported: unknown, role: StoreRole): string[] => {
  const faults = findModuleFaults(exported, 'defineStorage', 'open')
  if (typeof exported !== 'object' || exported === null) return faults
  const { name, contract, roles, packages, findMissing } = exported as Readonly<Record<string, unknown>>
  const more = [
    findContractFault(contract),
    findRolesFault(name, roles, role),
    packages === undefined || (Array.isArray(packages) && packages.every((one) => typeof one === 'string'))
      ? undefined
      : 'has packages that are not a list of names',
    findMissing === undefined || typeof findMissing === 'function'
      ? undefined
      : 'has a findMissing that is not a function',
  ]
  return [...faults, ...more.filter((fault) => fault !== undefined)]
}

/**
 * Imports the store module named in `storage.<role>` and checks its form, contract, roles and options. Never throws.
 */
export const loadStore = async <Role extends StoreRole>(
  choice: StoreChoice,
  role: Role,
): Promise<Loading<Backends[Role]>> => {
  const fail = (messages: readonly string[]) => ({
    problems: messages.map((message): Problem => ({ path: `storage.${role}.use`, message })),
  })
  const resolved = resolveStore(choice.use, choice.directory)
  if ('fault' in resolved) return fail([resolved.fault])
  const imported = await importModule(resolved.file)
  if ('fault' in imported) return fail([imported.fault])
  const faults = findFaults(imported.exported, role)
  if (faults.length > 0) return fail(faults)
  const module = imported.exported as StoreModule<unknown, Backends[Role]>
  const missing = module.packages?.filter((name) => resolvePackage(name, dirname(resolved.file)) === undefined) ?? []
  if (missing.length > 0) return fail(missing.map(explainMissing))
  const { value, problems } = await checkOptions(
    module.options,
    choice.options,
    ['storage', role],
    maskOf(choice.options),
  )
  return problems.length > 0 ? { problems } : { store: { module, options: value, ...resolved }, problems: [] }
}

/** What is wrong with the stores of both roles, which are resolved from `directory`. */
export const checkStores = async (
  { storage }: Pick<Salvaged<Config>, 'storage'>,
  directory: string,
): Promise<readonly Problem[]> => {
  const roles = (['records', 'ephemeral'] as const).map(async (role) => {
    const choice = storage?.[role]
    if (choice?.use === undefined) return []
    return (await loadStore({ use: choice.use, options: choice.options, directory }, role)).problems
  })
  return (await Promise.all(roles)).flat()
}
