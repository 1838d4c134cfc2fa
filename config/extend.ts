import { dirname, resolve } from 'node:path'
import { parseConfigDocument, type ConfigDocument, type Place } from './document.js'
import { formatPath, type Path } from '../core/format-path.js'
import type { Problem } from './problems.js'
import { readText } from './read-text.js'

/** A configuration file with the files that it extends. */
export interface ExtendedDocument extends ConfigDocument {
  /** Absolute paths of the file and of those that it extends. */
  readonly sources: readonly string[]
}

type Section = Readonly<Record<string, unknown>>

export const isSection = (value: unknown): value is Section =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A longer chain is a loop, or unreadable for people. */
const maxDepth = 5

/**
 * Reads a file and the files that it extends. A section is merged member by member, `null` removes a member, and
 * anything else replaces the value of the base (RFC 7396). A section with another `use` replaces the base's section
 * completely, because its options are another module's. Never throws.
 */
export const readExtended = async (file: string, shown: string, depth = 0): Promise<ExtendedDocument> => {
  const path = resolve(file)
  const { text, fault } = await readText(path)
  if (text === undefined) {
    const message = `the configuration file ${shown} ${fault}`
    return { value: undefined, lines: new Map(), problems: [{ path: '', message }], sources: [path] }
  }
  const own = parseConfigDocument(text)
  if (!isSection(own.value) || own.value['extends'] === undefined) return { ...own, sources: [path] }
  const { extends: base, ...written } = own.value
  const fail = (message: string): ExtendedDocument => {
    const line = own.lines.get('extends')?.line
    const problem = { path: 'extends', message, ...(line !== undefined && { line }) }
    return { ...own, value: written, problems: [...own.problems, problem], sources: [path] }
  }
  if (typeof base !== 'string' || base === '') return fail('must be the path of a configuration file')
  if (depth === maxDepth) return fail(`extends more than ${String(maxDepth)} files, perhaps in a circle`)
  const below = await readExtended(resolve(dirname(path), base), base, depth + 1)
  const sources = [path, ...below.sources]
  if (below.value === undefined) {
    const [problem = { message: 'cannot be read' }] = below.problems
    return { ...fail(problem.message), sources }
  }
  const lines = new Map<string, Place>([...below.lines].map(([name, place]) => [name, { file: base, ...place }]))
  const value = merge(below.value, written, [], lines)
  for (const [name, place] of own.lines) lines.set(name, place)
  const problems = below.problems.map((problem): Problem => ({ file: base, ...problem }))
  return { value, lines, problems: [...problems, ...own.problems], sources }
}

const uses = (section: Section): unknown => section['use']

/** Drops the lines of replaced values. */
const merge = (base: unknown, over: unknown, path: Path, lines: Map<string, Place>): unknown => {
  const isReplaced =
    !isSection(base) ||
    !isSection(over) ||
    '$env' in over ||
    '$file' in over ||
    (uses(over) !== undefined && uses(over) !== uses(base))
  if (isReplaced) {
    const place = formatPath(path)
    for (const name of lines.keys())
      if (place !== '' && (name === place || name.startsWith(`${place}.`) || name.startsWith(`${place}[`)))
        lines.delete(name)
    return over
  }
  const merged = Object.entries(over).map(
    ([name, value]) =>
      [name, merge(Object.hasOwn(base, name) ? base[name] : undefined, value, [...path, name], lines)] as const,
  )
  return Object.fromEntries(
    Object.entries({ ...base, ...Object.fromEntries(merged) }).filter(([, value]) => value !== null),
  )
}
