import { isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, type Document } from 'yaml'
import { formatPath, type Path } from '../core/format-path.js'
import type { Problem } from './problems.js'

/** A position in a file. */
export interface Place {
  /** From 1. */
  readonly line: number
  /** Named as in the file that extends it. Absent for the main file. */
  readonly file?: string
}

/** A YAML file as plain values, with the line of every path. */
export interface ConfigDocument {
  readonly value: unknown
  readonly lines: ReadonlyMap<string, Place>
  readonly problems: readonly Problem[]
}

const maxAliases = 50
const maxSyntaxProblems = 5

/**
 * Parses YAML 1.2 (JSON is YAML): a section or nothing, without custom tags, duplicate keys, alias bombs or loops.
 * Never throws.
 */
export const parseConfigDocument = (source: string): ConfigDocument => {
  const counter = new LineCounter()
  // Unusual but valid YAML is left to the checks, which report unknown keys.
  const reading = { strict: true, uniqueKeys: true, prettyErrors: false, logLevel: 'error' } as const
  const document = parseDocument(source, { lineCounter: counter, ...reading })
  const places = findPlaces(document)
  const lines = new Map<string, Place>()
  // The first of two equal keys counts here; the second is reported as a problem below.
  for (const place of places)
    if (!lines.has(place.path)) lines.set(place.path, { line: counter.linePos(place.offset).line })

  const problems = [...document.errors, ...document.warnings].map((error): Problem => {
    const path =
      error.code === 'DUPLICATE_KEY' ? places.find((place) => place.offset === error.pos[0])?.path : undefined
    return {
      path: path ?? '',
      message:
        path === undefined
          ? `is not proper YAML: ${error.code.toLowerCase().replaceAll('_', ' ')}`
          : 'is written twice',
      line: counter.linePos(error.pos[0]).line,
    }
  })
  const readable = problems.every((problem) => problem.path !== '')
  // One syntax error makes the rest of a file unreadable.
  if (!readable) return { value: undefined, lines, problems: problems.slice(0, maxSyntaxProblems) }
  const fail = (message: string): ConfigDocument => ({
    value: undefined,
    lines,
    problems: [...problems, { path: '', message }],
  })
  try {
    const value = document.toJS({ maxAliasCount: maxAliases }) as unknown
    if (isTooDeep(value)) return fail('is nested too deeply, or has a YAML alias within itself')
    const isFile = typeof value === 'object' && !Array.isArray(value)
    return isFile ? { value, lines, problems } : fail('the configuration must be a section of keys and values')
  } catch {
    return fail('uses too many YAML aliases')
  }
}

const maxNesting = 100

/** Also true for a value that contains itself. */
const isTooDeep = (value: unknown, depth = 0): boolean =>
  depth > maxNesting ||
  (typeof value === 'object' && value !== null && Object.values(value).some((inner) => isTooDeep(inner, depth + 1)))

interface Node {
  readonly path: string
  readonly offset: number
}

/** The start of each key and item. Content of an alias has no position. */
const findPlaces = (document: Document.Parsed): Node[] => {
  const places: Node[] = []
  const visit = (node: unknown, path: Path): void => {
    if (isMap(node)) {
      for (const pair of node.items) {
        if (!isPair(pair) || !isScalar(pair.key)) continue
        const inner = [...path, String(pair.key.value)]
        if (pair.key.range) places.push({ path: formatPath(inner), offset: pair.key.range[0] })
        visit(pair.value, inner)
      }
    } else if (isSeq(node)) {
      for (const [index, item] of node.items.entries()) {
        const inner = [...path, index]
        const range = (item as { range?: [number, number, number] } | null)?.range
        if (range) places.push({ path: formatPath(inner), offset: range[0] })
        visit(item, inner)
      }
    }
  }
  visit(document.contents, [])
  return places
}
