import { isUtf8 } from 'node:buffer'
import { OAuthError } from '../../../core/api/index.js'

const malformed = (): OAuthError =>
  new OAuthError('invalid_client', 'Client authentication failed.', { reason: 'malformed Basic credentials' })

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const plain = /^[\w\-.~]*$/

/** The client's id and secret are form-encoded before they are joined (RFC 6749 §2.3.1). */
const formDecode = (text: string): string => {
  if (plain.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw malformed()
  }
}

/**
 * Reads `Authorization: Basic` (RFC 7617 §2), strictly. Undefined when the header is absent or of another scheme;
 * throws `invalid_client` when it is Basic and malformed.
 */
export const readBasic = (header: string | undefined): { clientId: string; secret: string } | undefined => {
  if (header === undefined || !/^basic(?: |$)/i.test(header)) return undefined
  const encoded = header.slice(6).trim()
  if (encoded.length > 4096 || encoded === '' || !base64.test(encoded)) throw malformed()
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) throw malformed()
  if (!isUtf8(bytes)) throw malformed()
  const text = bytes.toString('utf8')
  const colon = text.indexOf(':')
  const [clientId, secret] = [formDecode(text.slice(0, Math.max(colon, 0))), formDecode(text.slice(colon + 1))]
  if (colon === -1 || clientId === '' || secret === '' || `${clientId}${secret}`.includes('\0')) throw malformed()
  return { clientId, secret }
}
