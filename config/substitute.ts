import { resolve } from 'node:path'
import { formatPath, type Path } from '../core/format-path.js'
import type { Problem } from './problems.js'
import { readText } from './read-text.js'
import { Secret } from './secret.js'

interface Sources {
  /** The base of `{$file: …}`. */
  readonly directory: string
  readonly env: NodeJS.ProcessEnv
  /** Missing values in options of plugins and signers become empty secrets, for a reader that loads neither. */
  readonly withoutModules?: boolean
}

interface Substituted {
  readonly value: unknown
  readonly problems: readonly Problem[]
  /** Substituted values that are probably a mistake. */
  readonly warnings: readonly Problem[]
}

/**
 * Whether a path is inside a module's options. Only the module knows which of them are secret, so all substituted
 * values are treated so.
 */
const isOption = ([section, , member]: Path): boolean =>
  member === 'options' && (section === 'plugins' || section === 'signers' || section === 'storage')

const secretName = /^(?:.*_)?(?:pin|password|passphrase|secret)$|_key$/

/** The address of a store contains its password. */
const isSecret = (path: Path): boolean => {
  const name = String(path.at(-1))
  return secretName.test(name) || (path[0] === 'storage' && name === 'uri')
}

/**
 * Replaces `{$env: NAME}` and `{$file: path}` by the text of variables and files, without one final line end. Inside
 * options of plugins, signers and stores the text becomes a `Secret`, as does a literal value under a name such as
 * `pin` or `password`.
 */
export const substitute = async (value: unknown, sources: Sources): Promise<Substituted> => {
  const problems: Problem[] = []
  const warnings: Problem[] = []

  const read = async (source: Record<string, unknown>, path: Path): Promise<string> => {
    const isUnused = sources.withoutModules === true && isOption(path) && path[0] !== 'storage'
    const fail = (message: string): string => {
      if (isUnused) return ''
      problems.push({ path: formatPath(path), message })
      return ''
    }
    const [[kind, name]] = Object.entries(source) as [[string, unknown]]
    if (Object.keys(source).length > 1) return fail(`${kind} must be the only key`)
    if (typeof name !== 'string' || name === '') return fail(`${kind} must be followed by a name`)
    const warn = (text: string): string => {
      const line = text.replace(/\r?\n$/, '')
      if (/^\s|\s$/.test(line)) {
        const source = kind === '$env' ? `the environment variable ${name}` : `the file ${name}`
        warnings.push({
          path: formatPath(path),
          message: `${source} begins or ends with a blank, which is part of the value`,
        })
      }
      return line
    }
    if (kind === '$env') {
      const text = sources.env[name]
      return text === undefined ? fail(`the environment variable ${name} is not set`) : warn(text)
    }
    const { text, fault } = await readText(resolve(sources.directory, name))
    return text === undefined ? fail(`the file ${name} ${fault}`) : warn(text)
  }

  const walk = async (node: unknown, path: Path): Promise<unknown> => {
    if (Array.isArray(node)) return Promise.all(node.map((item, index) => walk(item, [...path, index])))
    if (typeof node === 'string' && isOption(path) && isSecret(path)) return new Secret(node)
    if (typeof node !== 'object' || node === null) return node
    const entries = Object.entries(node)
    const first = entries[0]?.[0]
    if (first === '$env' || first === '$file') {
      const found = await read(node as Record<string, unknown>, path)
      const variable = (node as { readonly $env?: unknown }).$env
      return isOption(path) ? new Secret(found, typeof variable === 'string' ? variable : undefined) : found
    }
    return Object.fromEntries(
      await Promise.all(entries.map(async ([name, item]) => [name, await walk(item, [...path, name])] as const)),
    )
  }

  return { value: await walk(value, []), problems, warnings }
}

/** The options with secrets in clear text, for the module that they belong to. */
export const revealOptions = (options: unknown): unknown => {
  if (options instanceof Secret) return options.reveal()
  if (Array.isArray(options)) return options.map(revealOptions)
  if (typeof options !== 'object' || options === null) return options
  return Object.fromEntries(Object.entries(options).map(([name, item]) => [name, revealOptions(item)]))
}

/** The environment variables used in options. */
export const findVariables = (options: unknown): string[] => {
  if (options instanceof Secret) return options.variable === undefined ? [] : [options.variable]
  return typeof options === 'object' && options !== null ? Object.values(options).flatMap(findVariables) : []
}

/** The secret texts in options, which no message about them may repeat. */
export const findSecrets = (options: unknown): string[] => {
  if (options instanceof Secret) return options.reveal() === '' ? [] : [options.reveal()]
  return typeof options === 'object' && options !== null ? Object.values(options).flatMap(findSecrets) : []
}
