import { createRequire } from 'node:module'
import { isObject, type JsonObject, type JsonValue } from '../../json.js'
import type {
  AuthorizationDetail,
  AuthorizationDetailsType,
  AuthorizationDetailsTypes,
  DescribedDetail,
} from './authorization-details.js'

/** A type as it stands in the configuration. */
export interface ConfiguredDetailsType {
  readonly type: string
  readonly title?: Readonly<Record<string, string>> | undefined
  /** The JSON Schema 2020-12 of a detail, without its `type`. */
  readonly schema: JsonObject
  readonly show?:
    | readonly {
        readonly label?: Readonly<Record<string, string>> | undefined
        /** A JSON Pointer (RFC 6901). */
        readonly path: string
        readonly format: 'text' | 'amount'
      }[]
    | undefined
}

const load = createRequire(import.meta.url)

/** Compiles the schema. Throws an `Error` that says what is wrong with it. */
export const compileDetailsSchema = (schema: JsonObject) => {
  // The compiler of schemas is loaded only here, because most deployments have no such type.
  const { Ajv2020 } = load('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  return new Ajv2020({ strict: true }).compile(schema)
}

/** Unknown members must be refused (RFC 9396 §5), which the schema has to state. */
export const isClosedSchema = (schema: JsonObject): boolean =>
  schema['type'] === 'object' && (schema['additionalProperties'] === false || schema['unevaluatedProperties'] === false)

/** These keywords hold schemas for the same object. */
const inPlace = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'] as const

/** Tells whether a schema mentions the member `type`. A detail is checked without it, and would never pass. */
export const namesType = (schema: JsonValue | undefined): boolean => {
  if (Array.isArray(schema)) return schema.some((one: JsonValue) => namesType(one))
  if (!isObject(schema)) return false
  const { required, properties } = schema
  if (Array.isArray(required) && required.includes('type')) return true
  if (isObject(properties) && Object.hasOwn(properties, 'type')) return true
  return inPlace.some((keyword) => namesType(schema[keyword]))
}

/** Keywords that may describe a member outside `properties`, or refer to another schema. */
const open = [
  '$ref',
  '$dynamicRef',
  ...inPlace,
  'patternProperties',
  'dependentSchemas',
  'items',
  'prefixItems',
] as const

/**
 * Returns false for a JSON Pointer that cannot lead to anything in a detail: `type` is not there, nor is a member
 * that a closed schema does not name.
 */
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
    // Only the path within the schema is reported. It is the operator's, while the path within the detail contains
    // names from the client.
    check: (detail) => (validate(membersOf(detail)) ? undefined : (validate.errors?.[0]?.schemaPath ?? 'not valid')),
    describe: (detail) => ({ title: title ?? plain(type), lines: linesOf(membersOf(detail)) }),
  }
}

/**
 * Creates the types of the configuration. Throws `Error` for a schema that does not compile, which `check` has
 * already refused.
 */
export const createAuthorizationDetailsTypes = (
  configured: readonly ConfiguredDetailsType[],
): AuthorizationDetailsTypes => new Map(configured.map((one) => [one.type, createType(one)]))
