import { frozen, type JsonObject } from '../json.js'
import { RecentMap } from '../recent-map.js'
import { parseStrictJsonObject } from '../../libraries/wire/strict-json.js'

/** A JWS that was parsed but not verified, so nothing in it is trusted yet. Its header is frozen. */
export interface CompactJws {
  readonly header: JsonObject
  readonly payload: JsonObject
  /** The bytes that are signed (RFC 7515 §5.1). */
  readonly signingInput: Uint8Array
  readonly signature: Uint8Array
}

/** Longest token that is read, in characters. */
export const maxTokenLength = 8192
const form = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/

/**
 * Parses a JWS in compact form (RFC 7515 §7.1) whose payload is a JSON object. Parsing is strict: a token has one
 * spelling, so neither its text nor its hash can be varied. Returns undefined when it is longer than 8 KiB, is not
 * exactly three segments of canonical base64url, is not UTF-8, has a part that is not an object, has repeated
 * members, or uses an extension, since none is understood (`crit`, RFC 7515 §4.1.11; `b64`, RFC 7797 §6).
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
 * Whether the unused bits of the last base64url character are zero (RFC 4648 §3.5); otherwise the text has other
 * spellings. No number of bytes encodes to one character more than a multiple of four.
 */
const isCanonical = (segment: string): boolean => {
  const over = segment.length % 4
  if (over === 0) return true
  return over > 1 && (over === 2 ? 'AQgw' : 'AEIMQUYcgkosw048').includes(segment.charAt(segment.length - 1))
}

const maxHeaders = 1000
const maxHeaderLength = 1024
const headers = new RecentMap<string, JsonObject>(maxHeaders)

/** All tokens of a key have the same header, and parsing it is a third of the work. */
const recallHeader = (segment: string): JsonObject | undefined => {
  const known = headers.get(segment)
  if (known !== undefined) return known
  const header = parseStrictJsonObject(Buffer.from(segment, 'base64url'))
  if (header === undefined || 'crit' in header || 'b64' in header) return undefined
  if (segment.length > maxHeaderLength) return header
  headers.set(copyOf(segment), frozen(header))
  return header
}

/** Copies the string, because a slice of a token would keep the whole token in memory. Base64url only. */
export const copyOf = (piece: string): string => Buffer.from(piece, 'latin1').toString('latin1')
