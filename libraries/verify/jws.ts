import { parseStrictJsonObject } from '../wire/strict-json.js'
import { refused } from './refusal.js'

export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export interface CompactJws {
  readonly header: JsonObject
  readonly payload: JsonObject
  /** The signing input (RFC 7515 §5.1). */
  readonly input: string
  readonly signature: Buffer
}

/** Decodes canonical base64url (RFC 7515 §2). Undefined for any other spelling. */
export const readBase64url = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

/** Parses JSON from an issuer: one object without repeated members. Throws `Error` for anything else. */
export const parseServed = (text: string): JsonObject => {
  const value = parseStrictJsonObject(Buffer.from(text))
  if (value === undefined) throw new Error('This is not a JSON object, or one with repeated members.')
  return value
}

const readJson = (text: string): JsonObject => {
  const bytes = readBase64url(text)
  const value = bytes && parseStrictJsonObject(bytes)
  if (value === undefined) throw refused('malformed')
  return value
}

/**
 * Parses a JWS in compact form (RFC 7515 §7.1) whose payload is a JSON object. Throws `malformed` for everything
 * else.
 */
export const readCompact = (text: string): CompactJws => {
  const first = text.indexOf('.')
  const second = text.indexOf('.', first + 1)
  const signature = readBase64url(text.slice(second + 1))
  if (first < 1 || second < first + 2 || !signature || signature.length === 0) throw refused('malformed')
  const header = readJson(text.slice(0, first))
  if ('crit' in header) throw refused('malformed')
  return { header, payload: readJson(text.slice(first + 1, second)), input: text.slice(0, second), signature }
}
