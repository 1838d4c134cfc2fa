import type { Problem } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import type { Salvaged } from '../../config/explain.js'
import { storageContractVersion } from '../storage/contract-version.js'
import { checkOptions, findModuleFaults, importModule, maskOf } from './load-modules.js'
import { resolveOutside } from './module-specifier.js'
import type { StorageModule } from './contract.js'

type Choices = Config['storage']
export type AdapterChoice = Extract<Choices[keyof Choices], { readonly use: 'adapter' }>

/** An adapter's module and what its schema made of the options, or what is wrong with them. */
export type LoadedAdapter =
  | { readonly module: StorageModule; readonly options: unknown; readonly problems: readonly [] }
  | { readonly module?: never; readonly problems: readonly Problem[] }

/** What was not shown to keep the rules of today is not trusted with codes. */
const findFaults = (exported: unknown): string[] => {
  const faults = findModuleFaults(exported, 'defineStorage', 'open')
  if (typeof exported !== 'object' || exported === null) return faults
  const { contract } = exported as { readonly contract?: unknown }
  if (contract === storageContractVersion) return faults
  const asked = `this program needs ${String(storageContractVersion)}: run checkStorage of signet-idp/testing on it`
  return [
    ...faults,
    typeof contract === 'number'
      ? `passed version ${String(contract)} of the storage contract; ${asked}`
      : `does not declare which version of the storage contract it passed; ${asked}`,
  ]
}

/** Imports the adapter that `storage.<role>` names and checks its form, contract and options. Throws nothing. */
export const loadAdapter = async (choice: AdapterChoice, path: string): Promise<LoadedAdapter> => {
  const fail = (messages: readonly string[]): LoadedAdapter => ({
    problems: messages.map((message) => ({ path: `${path}.use`, message })),
  })
  const resolved = resolveOutside(choice.module, choice.directory)
  if ('fault' in resolved) return fail([`${resolved.fault}; the built-in stores are embedded, mongodb and redis`])
  const imported = await importModule(resolved.file)
  if ('fault' in imported) return fail([imported.fault])
  const faults = findFaults(imported.exported)
  if (faults.length > 0) return fail(faults)
  const module = imported.exported as StorageModule
  const mask = maskOf(choice.options)
  const { value, problems } = await checkOptions(module.options, choice.options, path.split('.'), mask)
  return problems.length > 0 ? { problems } : { module, options: value, problems: [] }
}

/** What is wrong with the adapters of both roles, which are looked for from `directory`. */
export const checkAdapters = async (
  { storage }: Pick<Salvaged<Config>, 'storage'>,
  directory: string,
): Promise<readonly Problem[]> => {
  const roles = (['records', 'ephemeral'] as const).map(async (role) => {
    const choice = storage?.[role]
    if (choice?.use !== 'adapter') return []
    return (await loadAdapter({ ...(choice as AdapterChoice), directory }, `storage.${role}`)).problems
  })
  return (await Promise.all(roles)).flat()
}
