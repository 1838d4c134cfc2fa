import { dirname, resolve } from 'node:path'
import type { Place } from './document.js'
import { describeIssue, explainIssues, salvage, type Salvaged } from './explain.js'
import { readExtended } from './extend.js'
import { moveToPort } from './port.js'
import { ConfigurationError, type Problem } from './problems.js'
import { complete, configObject, configSchema, type Config, type Written } from './schema.js'
import { Secret } from './secret.js'
import { locateStores } from './storage.js'
import { substitute } from './substitute.js'

/** A configuration file as far as it could be understood, for checks that continue after the first mistake. */
export interface ConfigReading {
  /** Absolute path of the file. */
  readonly file: string
  /** Absolute paths of the file and of those that it extends. */
  readonly sources: readonly string[]
  /** Present when there are no problems. */
  readonly config?: Config
  /** The valid parts; `undefined` replaces wrong ones. */
  readonly salvaged: Salvaged<Config>
  readonly problems: readonly Problem[]
  /** Settings that are allowed but probably a mistake. */
  readonly warnings: readonly Problem[]
  /** Adds the lines of the file to problems found later. */
  locate(problems: readonly Problem[]): Problem[]
}

const deepFreeze = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (!(value instanceof Secret)) for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}

/** In the form of `formatPath`: a name, an index, or any other key in quotes. */
const lastMember = /(?:\.?[A-Za-z_$][\w$-]*|\[\d+\]|\["(?:[^"\\]|\\.)*"\])$/

const placeOf = (lines: ReadonlyMap<string, Place>, path: string): Place | undefined => {
  const parent = path.replace(lastMember, '')
  return lines.get(path) ?? (parent === path ? undefined : placeOf(lines, parent))
}

/** Problems below an unreadable place are not worth reporting. */
const isWithin = (path: string, outer: string): boolean =>
  path === outer || (path.startsWith(outer) && /[.[]/.test(path.charAt(outer.length)))

export interface ReadOptions {
  /** Changes the configuration as `moveToPort` does. */
  readonly port?: number | undefined
  /** Does without variables and files that only options of plugins and signers name. */
  readonly withoutModules?: boolean
}

/** Reads the file and finds everything that is wrong with it. Never throws. */
export const readConfig = async (
  file: string,
  env: NodeJS.ProcessEnv,
  { port, withoutModules = false }: ReadOptions = {},
): Promise<ConfigReading> => {
  const path = resolve(file)
  const document = await readExtended(path, file)
  const { sources } = document
  const locate = (problems: readonly Problem[]): Problem[] =>
    problems.map((problem) =>
      problem.line === undefined ? { ...problem, ...placeOf(document.lines, problem.path) } : problem,
    )
  if (document.value === undefined)
    return { file: path, sources, salvaged: {}, problems: document.problems, warnings: [], locate }

  // An empty file is an empty configuration, and the problems name what is required.
  const {
    value: read,
    problems: unread,
    warnings: odd,
  } = await substitute(document.value ?? {}, { directory: dirname(path), env, withoutModules })
  const value = port === undefined ? read : moveToPort(read, port)
  const result = configSchema.safeParse(value, { error: describeIssue })
  const explained = result.success ? [] : explainIssues(configObject, result.error.issues)
  const problems = locate([
    ...document.problems,
    ...unread,
    ...explained.filter((problem) => !unread.some((outer) => isWithin(problem.path, outer.path))),
  ]).sort((left, right) => (left.line ?? 0) - (right.line ?? 0))
  const warnings = locate(odd)
  if (result.success && problems.length === 0) {
    const located = { ...result.data, storage: locateStores(result.data.storage, dirname(path)) }
    const config = deepFreeze(located) as Config
    return { file: path, sources, config, salvaged: config, problems, warnings, locate }
  }
  const right = salvage(configObject, value) as Partial<Written> | undefined
  // These two get defaults that depend on other members, even when their own values were wrong.
  const { listen = {}, shutdown = {} } = right ?? {}
  const salvaged = deepFreeze(complete({ ...right, listen, shutdown } as Written)) as Salvaged<Config>
  return { file: path, sources, salvaged, problems, warnings, locate }
}

/** Loads the configuration in `file`. Throws `ConfigurationError` with every problem. */
export const loadConfig = async (file: string, env: NodeJS.ProcessEnv): Promise<Config> => {
  const { config, problems } = await readConfig(file, env)
  if (config === undefined) throw new ConfigurationError(problems)
  return config
}
export type { Config } from './schema.js'
