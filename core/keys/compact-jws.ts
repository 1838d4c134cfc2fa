import type { JsonObject } from '../json.js'
import { parseStrictJsonObject } from './strict-json.js'

/** A JWS that was read and not verified: trust nothing in it yet. */
export interface CompactJws {
  readonly header: JsonObject
  readonly payload: JsonObject
  /** What the signature is over (RFC 7515 §5.1). */
  readonly signingInput: Uint8Array
  readonly signature: Uint8Array
}

const maxLength = 8192
const form = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/

/**
 * Reads a JWS in compact form (RFC 7515 §7.1) with a JSON object for payload, strictly: one spelling per token, so that
 * neither its text nor its hash can be varied. Undefined when it is longer than 8 KiB, not exactly three segments of
 * canonical base64url, not UTF-8, not objects, with repeated members, or with an extension: we understand none
 * (`crit`, RFC 7515 §4.1.11; `b64`, RFC 7797 §6).
 */
export const parseCompactJws = (text: string): CompactJws | undefined => {
  if (text.length > maxLength || !form.test(text)) return undefined
  const dot = text.lastIndexOf('.')
  const [head = '', body = '', tail = ''] = text.split('.')
  const headerBytes = decode(head)
  const payloadBytes = decode(body)
  const signature = decode(tail)
  if (headerBytes === undefined || payloadBytes === undefined || signature === undefined) return undefined
  const header = parseStrictJsonObject(headerBytes)
  if (header === undefined || 'crit' in header || 'b64' in header) return undefined
  const payload = parseStrictJsonObject(payloadBytes)
  if (payload === undefined) return undefined
  return { header, payload, signingInput: Buffer.from(text.slice(0, dot), 'latin1'), signature }
}

/** Undefined when the trailing bits are not zero (RFC 4648 §3.5): such a text has other spellings. */
const decode = (segment: string): Buffer | undefined => {
  const bytes = Buffer.from(segment, 'base64url')
  return bytes.toString('base64url') === segment ? bytes : undefined
}
