import { hasInheritedName, isObject, type JsonObject } from '../json.js'
import { parseStrictJsonObject } from '../../libraries/wire/strict-json.js'
import { isPlainText } from '../plain-text.js'
import { findAttributesFault } from './attributes.js'
import { attestationError } from './errors.js'
import { principalTypes, type Principal, type PrincipalType, type SecondFactorProof } from './ports.js'

/** The parts of a request that the endpoints read. */
interface Request {
  readonly body?: Buffer | undefined
  readonly query: { readonly values: ReadonlyMap<string, string> }
}

const malformed = (description: string): Error => attestationError('InvalidRequest', { description })

/**
 * The body as a JSON object, without repeated names or names that pollute prototypes, at any depth. Throws
 * `InvalidRequest`.
 */
export const readJsonObject = ({ body, query }: Request): JsonObject => {
  if (query.values.size > 0) throw malformed('Parameters belong in the body of the request.')
  const object = parseStrictJsonObject(body ?? Buffer.alloc(0))
  if (object === undefined || hasInheritedName(object)) throw malformed('The body is not a JSON object.')
  return object
}

/** Reads a required text member. Throws `InvalidRequest`. */
export const readText = (body: JsonObject, name: string): string => {
  const value = body[name]
  if (typeof value !== 'string') throw malformed('A member is missing or has the wrong type.')
  return value
}

/** Throws `InvalidRequest` for anything but an object. Whether it is a valid key is checked later. */
export const readKey = (body: JsonObject): JsonObject => {
  const { public_jwk: key } = body
  if (!isObject(key)) throw malformed('A member is missing or has the wrong type.')
  return key
}

const maxIdLength = 256

/** Accepts one spelling per id, so that it cannot be varied into another that looks the same. */
const readId = (body: JsonObject, name: string): string => {
  const id = readText(body, name)
  if (!isPlainText(id, maxIdLength))
    throw malformed('An identifier must have 1 to 256 printable characters in Unicode normal form C.')
  return id
}

export const isPrincipalType = (value: unknown): value is PrincipalType => principalTypes.some((type) => type === value)

/** Throws `InvalidRequest`. */
export const readPrincipal = (body: JsonObject): Principal => {
  const { principal_type: principalType } = body
  if (!isPrincipalType(principalType)) throw malformed('The member principal_type must be device or service.')
  return { subject: readId(body, 'subject'), principalId: readId(body, 'principal_id'), principalType }
}

const maxKindLength = 64
const maxValueLength = 16 * 1024

/** Throws `InvalidRequest`. */
export const readSecondFactor = (body: JsonObject): SecondFactorProof => {
  const { second_factor: factor } = body
  if (!isObject(factor)) throw malformed('A member is missing or has the wrong type.')
  const [kind, value] = [readText(factor, 'kind'), readText(factor, 'value')]
  if (kind === '' || kind.length > maxKindLength || value.length > maxValueLength)
    throw malformed('The second factor is too long.')
  return { kind, value }
}

/** Throws `InvalidRequest`. */
export const readAttributes = ({ attributes = {} }: JsonObject): JsonObject => {
  const fault = isObject(attributes) ? findAttributesFault(attributes) : 'The member attributes must be an object.'
  if (fault !== undefined) throw malformed(fault)
  return attributes as JsonObject
}

/** Evidence as received, and the parts of it that the core reads. */
export interface SentEvidence {
  readonly kind: string
  readonly challenge: string
  readonly whole: JsonObject
}

/** Undefined if there is none. Throws `InvalidRequest`. */
export const readEvidence = ({ evidence }: JsonObject): SentEvidence | undefined => {
  if (evidence === undefined) return undefined
  if (!isObject(evidence)) throw malformed('The member evidence must be an object.')
  const [kind, challenge] = [readText(evidence, 'kind'), readText(evidence, 'challenge')]
  if (kind === '' || kind.length > maxKindLength) throw malformed('The kind of the evidence is too long.')
  return { kind, challenge, whole: evidence }
}
