import { createRequire } from 'node:module'
import { isObject, type JsonObject, type JsonValue } from '../../json.js'
import type {
  AuthorizationDetail,
  AuthorizationDetailsType,
  AuthorizationDetailsTypes,
  DescribedDetail,
} from './authorization-details.js'

/** A type as the configuration has it. */
export interface ConfiguredDetailsType {
  readonly type: string
  readonly title?: Readonly<Record<string, string>> | undefined
  /** JSON Schema 2020-12 of a detail, without its `type`. */
  readonly schema: JsonObject
  readonly show?:
    | readonly {
        readonly label?: Readonly<Record<string, string>> | undefined
        /** JSON Pointer (RFC 6901). */
        readonly path: string
        readonly format: 'text' | 'amount'
      }[]
    | undefined
}

const load = createRequire(import.meta.url)

/** Compiles it. Throws `Error` that says what is wrong with the schema. */
export const compileDetailsSchema = (schema: JsonObject) => {
  // Most deployments have no such type, and need not load the compiler of schemas.
  const { Ajv2020 } = load('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  return new Ajv2020({ strict: true }).compile(schema)
}

/** RFC 9396 §5: a member that nobody knows is refused, which a schema has to say. */
export const isClosedSchema = (schema: JsonObject): boolean =>
  schema['type'] === 'object' && (schema['additionalProperties'] === false || schema['unevaluatedProperties'] === false)

/** Keywords whose schemas are about the same object. */
const inPlace = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'] as const

/** Does a schema speak of the member `type`? A detail is checked without it, and would never pass. */
export const namesType = (schema: JsonValue | undefined): boolean => {
  if (Array.isArray(schema)) return schema.some((one: JsonValue) => namesType(one))
  if (!isObject(schema)) return false
  const { required, properties } = schema
  if (Array.isArray(required) && required.includes('type')) return true
  if (isObject(properties) && Object.hasOwn(properties, 'type')) return true
  return inPlace.some((keyword) => namesType(schema[keyword]))
}

/** What a schema may say of a member beside `properties`, or of itself elsewhere. */
const open = [
  '$ref',
  '$dynamicRef',
  ...inPlace,
  'patternProperties',
  'dependentSchemas',
  'items',
  'prefixItems',
] as const

/** False for a JSON Pointer that certainly leads to nothing in a detail: `type` is not there, nor what a closed schema does not name. */
export const mayHave = (schema: JsonObject, path: string): boolean => {
  let within: JsonObject = schema
  for (const part of path.slice(1).split('/')) {
    if (open.some((keyword) => keyword in within)) return true
    const { properties, additionalProperties, unevaluatedProperties } = within
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    const next = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined
    if (next === undefined) return additionalProperties !== false && unevaluatedProperties !== false
    if (!isObject(next)) return true
    within = next
  }
  return true
}

const valueAt = (detail: JsonObject, path: string): JsonValue | undefined => {
  let value: JsonValue | undefined = detail
  for (const part of path.slice(1).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as JsonObject)[name]
  }
  return value
}

const textOf = (value: JsonValue, format: 'text' | 'amount'): string => {
  if (format === 'amount' && isObject(value)) {
    const { currency, amount } = value
    if (typeof currency === 'string' && (typeof amount === 'string' || typeof amount === 'number'))
      return `${String(amount)} ${currency}`
  }
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const plain = (text: string) => ({ en: text })

const createType = ({ type, title, schema, show }: ConfiguredDetailsType): AuthorizationDetailsType => {
  const validate = compileDetailsSchema(schema)
  const membersOf = ({ type: _type, ...members }: AuthorizationDetail): JsonObject => members
  const linesOf = (members: JsonObject): DescribedDetail['lines'] =>
    show === undefined
      ? Object.entries(members).flatMap(([name, value]) =>
          value === undefined ? [] : [{ label: plain(name), text: textOf(value, 'text') }],
        )
      : show.flatMap(({ label, path, format }) => {
          const value = valueAt(members, path)
          return value === undefined ? [] : [{ label: label ?? plain(path), text: textOf(value, format) }]
        })
  return {
    type,
    // The path within the schema, which is the operator's; the one within the detail has names of the client's.
    check: (detail) => (validate(membersOf(detail)) ? undefined : (validate.errors?.[0]?.schemaPath ?? 'not valid')),
    describe: (detail) => ({ title: title ?? plain(type), lines: linesOf(membersOf(detail)) }),
  }
}

/** Throws `Error` for a schema that does not compile, which `check` has refused before. */
export const createAuthorizationDetailsTypes = (
  configured: readonly ConfiguredDetailsType[],
): AuthorizationDetailsTypes => new Map(configured.map((one) => [one.type, createType(one)]))
