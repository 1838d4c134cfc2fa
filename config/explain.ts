import { z } from 'zod'
import { findNearMiss } from '../core/near-miss.js'
import { formatPath, type Path } from '../core/format-path.js'
import type { Problem } from './problems.js'

export type ZodSchema = z.core.$ZodType
export type ZodIssue = z.core.$ZodIssue

interface Definition {
  readonly innerType?: ZodSchema
  readonly in?: ZodSchema
  readonly element?: ZodSchema
  readonly valueType?: ZodSchema
  readonly catchall?: ZodSchema
  readonly shape?: Readonly<Record<string, ZodSchema>>
  readonly options?: readonly ZodSchema[]
}

const definition = (schema: ZodSchema): Definition => schema._zod.def as Definition

/** The schema inside defaults, optionals and transforms. */
export const unwrap = (schema: ZodSchema): ZodSchema => {
  const { innerType, in: input } = definition(schema)
  const inner = innerType ?? input
  return inner === undefined ? schema : unwrap(inner)
}

const knownKeys = (schema: ZodSchema, path: readonly PropertyKey[]): string[] => {
  const { shape, element, valueType, options } = definition(unwrap(schema))
  if (options !== undefined) return options.flatMap((option) => knownKeys(option, path))
  const [head, ...rest] = path
  if (head === undefined) return Object.keys(shape ?? {})
  const next = shape?.[String(head)] ?? element ?? valueType
  return next === undefined ? [] : knownKeys(next, rest)
}

const nouns: Readonly<Record<string, string>> = {
  string: 'a string (put it in quotes)',
  int: 'a whole number',
  number: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a section of keys and values',
  record: 'a section of keys and values',
}

const suggestion = (typed: unknown, words: readonly string[]): string => {
  const meant = typeof typed === 'string' ? findNearMiss(typed, words) : undefined
  return meant === undefined ? '' : `; did you mean \`${meant}\`?`
}

type Bound =
  | Pick<z.core.$ZodIssueTooSmall, 'code' | 'origin' | 'minimum'>
  | Pick<z.core.$ZodIssueTooBig, 'code' | 'origin' | 'maximum'>

/** The bound that a text, list or number violates. */
export const describeBound = (issue: Bound): string => {
  const [word, bound] =
    issue.code === 'too_small' ? ['at least', String(issue.minimum)] : ['at most', String(issue.maximum)]
  if (issue.origin !== 'string' && issue.origin !== 'array') return `must be ${word} ${bound}`
  if (issue.code === 'too_small' && bound === '1') return 'must not be empty'
  return `must have ${word} ${bound} ${issue.origin === 'string' ? 'characters' : 'entries'}`
}

/** Messages in terms of the file. None repeats a value, which may be a secret. */
export const describeIssue: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined && issue.code !== 'custom') return 'is required'
  if (issue.input === null && issue.code === 'invalid_type') return 'has no value'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${nouns[issue.expected] ?? issue.expected}`
    case 'invalid_value': {
      const words = issue.values.map(String)
      return `must be ${words.length === 1 ? '' : 'one of '}${words.join(', ')}${suggestion(issue.input, words)}`
    }
    case 'too_small':
    case 'too_big':
      return describeBound(issue)
    default:
      return undefined
  }
}

const noMergeKeys = 'is an ordinary key: YAML 1.2 has no merge keys. Write the members out, or use `extends`'

/** One problem per wrong key and value. A misspelt key is not reported as missing too. */
export const explainIssues = (schema: ZodSchema, issues: readonly ZodIssue[], base: Path = []): Problem[] => {
  const flat = issues.flatMap(flattenUnion)
  const meant = new Set<string>()
  const unknown = flat.flatMap((issue) =>
    issue.code !== 'unrecognized_keys'
      ? []
      : issue.keys.map((key): Problem => {
          if (key === '<<')
            return { path: formatPath([...base, ...(issue.path as string[]), key]), message: noMergeKeys }
          const near = findNearMiss(key, knownKeys(schema, issue.path))
          if (near !== undefined) meant.add(formatPath([...base, ...(issue.path as string[]), near]))
          return {
            path: formatPath([...base, ...(issue.path as string[]), key]),
            message: near === undefined ? 'unknown key' : `unknown key; did you mean \`${near}\`?`,
          }
        }),
  )
  const others = flat
    .filter((issue) => issue.code !== 'unrecognized_keys')
    .map((issue): Problem => ({
      path: formatPath([...base, ...(issue.path as string[])]),
      message: issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? 'is not a valid name') : issue.message,
    }))
    .filter((problem) => !(problem.message === 'is required' && meant.has(problem.path)))
  return [...others, ...unknown]
}

/** For a choice between forms, the faults of the closest one: the one whose problems are deepest. */
const flattenUnion = (issue: z.core.$ZodIssue): z.core.$ZodIssue[] => {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue]
  const depth = (branch: readonly z.core.$ZodIssue[]) =>
    Math.max(...branch.map((inner) => inner.path.length + (inner.code === 'unrecognized_keys' ? 1 : 0)))
  const best = issue.errors.reduce((left, right) => (depth(right) > depth(left) ? right : left))
  return best.flatMap(flattenUnion).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
}

/** A `T` in which every member may be missing because its value was wrong. */
export type Salvaged<T> = T extends { reveal(): string }
  ? T
  : T extends readonly (infer Item)[]
    ? readonly (Salvaged<Item> | undefined)[]
    : T extends object
      ? { readonly [Name in keyof T]?: Salvaged<T[Name]> | undefined }
      : T

/**
 * Like `validate` of the Standard Schema, with these messages in place of zod's. Those of the schema's author are
 * kept.
 */
export const parseOptions = async (
  schema: ZodSchema,
  value: unknown,
): Promise<{ readonly value: unknown; readonly issues?: never } | { readonly issues: readonly ZodIssue[] }> => {
  const result = await z.safeParseAsync(schema, value, { error: describeIssue })
  return result.success ? { value: result.data } : { issues: result.error.issues }
}

/**
 * Keeps the valid parts of a wrong value, so that later checks can report their faults in the same run. Wrong leaves
 * become undefined.
 */
export const salvage = (schema: ZodSchema, value: unknown): unknown => {
  const result = z.safeParse(schema, value)
  if (result.success) return result.data
  const { shape, element, valueType, catchall } = definition(unwrap(schema))
  if (element !== undefined) return Array.isArray(value) ? value.map((item) => salvage(element, item)) : undefined
  if (typeof value !== 'object' || value === null) return undefined
  const members = value as Readonly<Record<string, unknown>>
  if (shape !== undefined)
    return {
      // A loose object keeps members that its schema does not know; a strict one has `never` there.
      ...(catchall !== undefined && catchall._zod.def.type !== 'never' && members),
      ...Object.fromEntries(Object.entries(shape).map(([name, inner]) => [name, salvage(inner, members[name])])),
    }
  if (valueType !== undefined)
    return Object.fromEntries(Object.entries(members).map(([name, inner]) => [name, salvage(valueType, inner)]))
  return undefined
}
