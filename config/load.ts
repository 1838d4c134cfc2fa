import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parseConfigDocument } from './document.js'
import { describeIssue, explainIssues, salvage, type Salvaged } from './explain.js'
import { ConfigurationError, type Problem } from './problems.js'
import { complete, configObject, configSchema, type Config, type Written } from './schema.js'
import { Secret } from './secret.js'
import { locateAdapters } from './storage.js'
import { substitute } from './substitute.js'

/** A configuration file as far as it can be understood, for checks that go on after the first mistake. */
export interface ConfigReading {
  /** Absolute path of the file. */
  readonly file: string
  /** Present when there is no problem. */
  readonly config?: Config
  /** What is right of it. Where something is wrong, `undefined` stands. */
  readonly salvaged: Salvaged<Config>
  readonly problems: readonly Problem[]
  /** Adds the lines of the file to problems that were found later. */
  locate(problems: readonly Problem[]): Problem[]
}

const deepFreeze = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (!(value instanceof Secret)) for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}

const parent = (path: string): string => path.replace(/(?:\.?[^.[\]]+|\[[^\]]*\])$/, '')

const lineOf = (lines: ReadonlyMap<string, number>, path: string): number | undefined =>
  path === '' ? undefined : (lines.get(path) ?? lineOf(lines, parent(path)))

/** Below a place that could not be read nothing else is worth telling. */
const isWithin = (path: string, outer: string): boolean =>
  path === outer || (path.startsWith(outer) && /[.[]/.test(path.charAt(outer.length)))

/** Reads the file and finds all that is wrong with it. Throws nothing. */
export const readConfig = async (file: string, env: NodeJS.ProcessEnv): Promise<ConfigReading> => {
  const path = resolve(file)
  let source: string
  try {
    source = await readFile(path, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    const problems = [{ path: '', message: `the configuration file ${file} cannot be read (${code})` }]
    return { file: path, salvaged: {}, problems, locate: (later) => [...later] }
  }
  const document = parseConfigDocument(source)
  const locate = (problems: readonly Problem[]): Problem[] =>
    problems.map((problem) => {
      const line = problem.line ?? lineOf(document.lines, problem.path)
      return line === undefined ? problem : { ...problem, line }
    })
  if (document.value === undefined) return { file: path, salvaged: {}, problems: document.problems, locate }

  // An empty file is an empty configuration: the problems name what is required.
  const { value, problems: unread } = await substitute(document.value ?? {}, { directory: dirname(path), env })
  const result = configSchema.safeParse(value, { error: describeIssue })
  const explained = result.success ? [] : explainIssues(configObject, result.error.issues)
  const problems = locate([
    ...document.problems,
    ...unread,
    ...explained.filter((problem) => !unread.some((outer) => isWithin(problem.path, outer.path))),
  ]).sort((left, right) => (left.line ?? 0) - (right.line ?? 0))
  if (result.success && problems.length === 0) {
    const located = { ...result.data, storage: locateAdapters(result.data.storage, dirname(path)) }
    const config = deepFreeze(located) as Config
    return { file: path, config, salvaged: config, problems, locate }
  }
  const salvaged = deepFreeze(complete((salvage(configObject, value) ?? {}) as Written)) as Salvaged<Config>
  return { file: path, salvaged, problems, locate }
}

/** The configuration in `file`. Throws `ConfigurationError` with every problem. */
export const loadConfig = async (file: string, env: NodeJS.ProcessEnv): Promise<Config> => {
  const { config, problems } = await readConfig(file, env)
  if (config === undefined) throw new ConfigurationError(problems)
  return config
}
export type { Config } from './schema.js'
