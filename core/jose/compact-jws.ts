import { frozen, type JsonObject } from '../json.js'
import { RecentMap } from '../recent-map.js'
import { parseStrictJsonObject } from '../../libraries/wire/strict-json.js'

/** A JWS that was read and not verified: trust nothing in it yet. Its header is frozen. */
export interface CompactJws {
  readonly header: JsonObject
  readonly payload: JsonObject
  /** What the signature is over (RFC 7515 §5.1). */
  readonly signingInput: Uint8Array
  readonly signature: Uint8Array
}

/** Characters of a token that can be read. */
export const maxTokenLength = 8192
const form = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/

/**
 * Reads a JWS in compact form (RFC 7515 §7.1) with a JSON object for payload, strictly: one spelling per token, so that
 * neither its text nor its hash can be varied. Undefined when it is longer than 8 KiB, not exactly three segments of
 * canonical base64url, not UTF-8, not objects, with repeated members, or with an extension: we understand none
 * (`crit`, RFC 7515 §4.1.11; `b64`, RFC 7797 §6).
 */
export const parseCompactJws = (text: string): CompactJws | undefined => {
  if (text.length > maxTokenLength || !form.test(text)) return undefined
  const dot = text.lastIndexOf('.')
  const [head = '', body = '', tail = ''] = text.split('.')
  if (!isCanonical(head) || !isCanonical(body) || !isCanonical(tail)) return undefined
  const header = recallHeader(head)
  if (header === undefined) return undefined
  const payload = parseStrictJsonObject(Buffer.from(body, 'base64url'))
  if (payload === undefined) return undefined
  const signature = Buffer.from(tail, 'base64url')
  return { header, payload, signingInput: Buffer.from(text.slice(0, dot), 'latin1'), signature }
}

/**
 * Of base64url text: are the bits that its last character has too many zero (RFC 4648 §3.5)? Else the text has other
 * spellings. No number of bytes takes one character more than a multiple of four.
 */
const isCanonical = (segment: string): boolean => {
  const over = segment.length % 4
  if (over === 0) return true
  return over > 1 && (over === 2 ? 'AQgw' : 'AEIMQUYcgkosw048').includes(segment.charAt(segment.length - 1))
}

const maxHeaders = 1000
const maxHeaderLength = 1024
const headers = new RecentMap<string, JsonObject>(maxHeaders)

/** The header of one key is the same in all that it signs, and reading it a third of the work. */
const recallHeader = (segment: string): JsonObject | undefined => {
  const known = headers.get(segment)
  if (known !== undefined) return known
  const header = parseStrictJsonObject(Buffer.from(segment, 'base64url'))
  if (header === undefined || 'crit' in header || 'b64' in header) return undefined
  if (segment.length > maxHeaderLength) return header
  headers.set(copyOf(segment), frozen(header))
  return header
}

/** A piece of a token would keep all of it in memory. Base64url only. */
export const copyOf = (piece: string): string => Buffer.from(piece, 'latin1').toString('latin1')
