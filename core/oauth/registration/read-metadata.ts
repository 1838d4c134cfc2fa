import { hasInheritedName, isObject, type JsonObject, type JsonValue } from '../../json.js'
import { maxKeys } from '../../jose/key-set.js'
import { parseStrictJsonObject } from '../../../libraries/wire/strict-json.js'
import { metadataSchema } from '../clients/client-metadata-schema.js'
import type { MetadataProblem } from '../clients/metadata-rules.js'
import { OAuthError } from '../errors.js'
import { metadataRefused } from './refuse-metadata.js'

/**
 * Members that a client can never set, because they are the server's or the operator's. A client that sends one is
 * not refused, and does not get it.
 */
const owned: ReadonlySet<string> = new Set([
  'client_id',
  'client_secret',
  'client_secret_expires_at',
  'consent',
  'disabled',
  'introspection_audiences',
  'metadata',
])

/** The members of client metadata that a client may set for itself. */
const registrable: readonly string[] = [
  ...Object.keys(metadataSchema.shape).filter((name) => !owned.has(name)),
  'software_statement',
]

const malformed = (reason: string): OAuthError =>
  new OAuthError('invalid_client_metadata', 'The body is not a JSON object of client metadata.', { reason })

/** Parses the body of a registration, which is one JSON object. Throws `invalid_client_metadata`. */
export const parseRegistration = (body: Buffer | undefined): JsonObject => {
  const object = parseStrictJsonObject(body ?? Buffer.alloc(0))
  if (object === undefined) throw malformed('not a JSON object')
  if (hasInheritedName(object)) throw malformed('a name of JavaScript')
  return object
}

const maxEntries = 100
const maxCharacters = 2048

/** RFC 5321 §4.5.3.1.3: the longest address. */
const maxContacts = 10
const maxContactLength = 254

/** The limit is far more than any client has, so later code may look at each entry. */
const findExcess = (name: string, value: JsonValue): string | undefined => {
  if (name === 'software_statement') return undefined
  if (name === 'contacts' && Array.isArray(value)) {
    if (value.length > maxContacts) return `must have at most ${String(maxContacts)} entries`
    if (value.some((one) => typeof one === 'string' && one.length > maxContactLength))
      return `must have entries of at most ${String(maxContactLength)} characters`
  }
  if (typeof value === 'string')
    return value.length > maxCharacters ? `must have at most ${String(maxCharacters)} characters` : undefined
  if (Array.isArray(value)) {
    if (value.length > maxEntries) return `must have at most ${String(maxEntries)} entries`
    return value.some((one) => typeof one === 'string' && one.length > maxCharacters)
      ? `must have entries of at most ${String(maxCharacters)} characters`
      : undefined
  }
  return undefined
}

/** Keys that are not understood in a set are ignored (RFC 7517 §5). */
const readKeySet = (value: JsonValue): JsonValue => (isObject(value) ? { keys: value['keys'] ?? null } : value)

const hasTooManyKeys = (value: JsonValue | undefined): boolean => {
  const keys = isObject(value) ? value['keys'] : undefined
  return Array.isArray(keys) && keys.length > maxKeys
}

/**
 * Returns the metadata that the client may set, from what it sent. Members that are not understood are ignored, and
 * `null` counts as absent (RFC 7591 §2, RFC 7592 §2.2). Throws `invalid_client_metadata` when there is too much to
 * look at.
 */
export const readMetadata = (sent: JsonObject): JsonObject => {
  const read: Record<string, JsonValue> = {}
  const problems: MetadataProblem[] = []
  for (const name of registrable) {
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined
    if (value === undefined || value === null) continue
    const excess = findExcess(name, value)
    if (excess !== undefined) problems.push({ path: name, message: excess })
    read[name] = name === 'jwks' ? readKeySet(value) : value
  }
  if (hasTooManyKeys(read['jwks']))
    problems.push({ path: 'jwks.keys', message: `must have at most ${String(maxKeys)} entries` })
  if (problems.length > 0) throw metadataRefused(problems)
  return read
}
