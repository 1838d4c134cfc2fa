import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { explainIssues, parseOptions, type Salvaged, type ZodIssue, type ZodSchema } from '../../config/explain.js'
import { findNearMiss } from '../near-miss.js'
import { formatPath, type Path } from '../format-path.js'
import type { Problem } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import { findSecrets, revealOptions } from '../../config/substitute.js'
import type { PluginModule, ServiceName, SignerModule } from './contract.js'
import { isObject } from '../json.js'
import { explainFailedImport } from './missing-package.js'
import { inertServices } from './inert-services.js'
import { resolveSpecifier, type ModuleKind } from './module-specifier.js'
import { describeFailure } from '../plugin-failure.js'

/** A module that was found and has valid options. */
export interface LoadedModule<Module> {
  /** Its path in the configuration: `plugins[2]`, `signers.hsm`. */
  readonly path: string
  readonly module: Module
  /** The options as parsed by its schema. */
  readonly options: unknown
  /** Masks secrets of the options in a message about them. */
  readonly mask: (message: string) => string
}

export type LoadedPlugin = LoadedModule<PluginModule>
export type LoadedSigner = LoadedModule<SignerModule>

export interface LoadedModules {
  readonly plugins: readonly LoadedPlugin[]
  /** By configured name. */
  readonly signers: ReadonlyMap<string, LoadedSigner>
  readonly problems: readonly Problem[]
}

const serviceNames: readonly string[] = [...Object.keys(inertServices('')), 'secondFactors' satisfies ServiceName]

/** What is wrong with a module's default export, in the order of reading. */
export const findModuleFaults = (exported: unknown, makers: string, verb: 'create' | 'open'): string[] => {
  if (!isObject(exported)) return [`has no default export made with ${makers}`]
  const faults: string[] = []
  if (exported.apiVersion === undefined) faults.push('has no apiVersion: write `apiVersion: 1`')
  else if (exported.apiVersion !== 1)
    faults.push(
      `was made for apiVersion ${JSON.stringify(exported.apiVersion)}, but this program supports apiVersion 1`,
    )
  if (typeof exported.name !== 'string' || exported.name === '') faults.push('has no name')
  if (typeof exported[verb] !== 'function') faults.push(`has no ${verb} function`)
  const { options } = exported
  const standard =
    (isObject(options) || typeof options === 'function') && (options as Record<string, unknown>)['~standard']
  if (options !== undefined && !(isObject(standard) && typeof standard.validate === 'function'))
    faults.push('has options that are not a Standard Schema')
  return faults
}

const findFaults = (exported: unknown, kind: ModuleKind): string[] => {
  const faults = findModuleFaults(exported, 'definePlugin or defineSigner', 'create')
  if (!isObject(exported)) return faults
  const { needs } = exported
  if (needs === undefined) return faults
  if (!Array.isArray(needs) || kind === 'signers')
    return [...faults, kind === 'signers' ? 'is a plugin, not a signer' : 'has needs that are not a list']
  for (const need of needs.map(String)) {
    if (serviceNames.includes(need)) continue
    const near = findNearMiss(need, serviceNames)
    faults.push(
      `needs the service ${need}, which does not exist${near === undefined ? '' : `; did you mean \`${near}\`?`}`,
    )
  }
  return faults
}

const isZod = (schema: StandardSchemaV1): schema is StandardSchemaV1 & ZodSchema => '_zod' in schema

/** Issues of zod carry more than the standard: the unknown keys and the known ones. */
const explain = (schema: StandardSchemaV1, issues: readonly StandardSchemaV1.Issue[], base: Path): Problem[] =>
  isZod(schema)
    ? explainIssues(schema, issues as unknown as readonly ZodIssue[], base)
    : issues.map((issue) => {
        const keys = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part))
        return {
          path: formatPath([...base, ...keys.map((key) => (typeof key === 'number' ? key : String(key)))]),
          message: issue.message,
        }
      })

export interface Checked {
  readonly value: unknown
  readonly problems: readonly Problem[]
}

export const checkOptions = async (
  schema: StandardSchemaV1 | undefined,
  options: unknown,
  base: Path,
  mask: (message: string) => string,
): Promise<Checked> => {
  const path = formatPath([...base, 'options'])
  if (schema === undefined)
    return {
      value: undefined,
      problems: options === undefined ? [] : [{ path, message: 'this module takes no options' }],
    }
  try {
    const given = options === undefined ? {} : revealOptions(options)
    const result = isZod(schema) ? await parseOptions(schema, given) : await schema['~standard'].validate(given)
    if (result.issues === undefined) return { value: result.value, problems: [] }
    const problems = explain(schema, result.issues, [...base, 'options']).map((problem) => ({
      ...problem,
      message: mask(problem.message),
    }))
    return { value: undefined, problems }
  } catch {
    return { value: undefined, problems: [{ path, message: 'the module failed to check its options' }] }
  }
}

/** The default export of a file. */
export const importModule = async (
  file: string,
): Promise<{ readonly exported: unknown } | { readonly fault: string; readonly stack?: string }> => {
  try {
    return { exported: ((await import(pathToFileURL(file).href)) as { default?: unknown }).default }
  } catch (error) {
    const missing = explainFailedImport(error)
    if (missing !== undefined) return { fault: missing }
    const { message, stack } = await describeFailure(error, file)
    return { fault: `cannot be loaded: ${message}`, ...(stack !== undefined && { stack }) }
  }
}

interface Entry {
  readonly use?: string | undefined
  readonly options?: unknown
}

/** Masks secrets of the options in a message about them. */
export const maskOf = (options: unknown) => {
  const secrets = findSecrets(options)
  return (message: string): string => secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), message)
}

const loadModule = async <Module extends PluginModule | SignerModule>(
  kind: ModuleKind,
  entry: Entry | undefined,
  base: Path,
  configDirectory: string,
): Promise<{ readonly loaded?: LoadedModule<Module>; readonly problems: readonly Problem[] }> => {
  // A value that could not be read has been reported already.
  if (entry?.use === undefined) return { problems: [] }
  const fail = (messages: readonly string[]) => ({
    problems: messages.map((message): Problem => ({ path: formatPath([...base, 'use']), message })),
  })
  const resolved = resolveSpecifier(kind, entry.use, configDirectory)
  if ('fault' in resolved) return fail([resolved.fault])
  const imported = await importModule(resolved.file)
  if ('fault' in imported) {
    const { fault, ...more } = imported
    return { problems: [{ path: formatPath([...base, 'use']), message: fault, ...more }] }
  }
  const { exported } = imported
  const faults = findFaults(exported, kind)
  if (faults.length > 0) return fail(faults)
  const module = exported as Module
  const mask = maskOf(entry.options)
  const { value, problems } = await checkOptions(module.options, entry.options, base, mask)
  return problems.length > 0
    ? { problems }
    : { loaded: { path: formatPath(base), module, options: value, mask }, problems }
}

/**
 * Imports exactly the modules that the configuration names, and checks the form and options of each. `./file.js` and
 * npm packages are resolved from `configFile`. Never throws: faults are in `problems`.
 */
export const loadModules = async (
  config: Pick<Salvaged<Config>, 'plugins' | 'signers'>,
  configFile: string,
): Promise<LoadedModules> => {
  const directory = dirname(configFile)
  const plugins = await Promise.all(
    (config.plugins ?? []).map((entry, index) =>
      loadModule<PluginModule>('plugins', entry, ['plugins', index], directory),
    ),
  )
  const signers = await Promise.all(
    Object.entries(config.signers ?? {}).map(
      async ([name, entry]) =>
        [name, await loadModule<SignerModule>('signers', entry, ['signers', name], directory)] as const,
    ),
  )
  return {
    plugins: plugins.flatMap(({ loaded }) => loaded ?? []),
    signers: new Map(signers.flatMap(([name, { loaded }]) => (loaded === undefined ? [] : [[name, loaded] as const]))),
    problems: [...plugins, ...signers.map(([, result]) => result)].flatMap(({ problems }) => problems),
  }
}
