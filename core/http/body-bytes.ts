import type { IncomingMessage } from 'node:http'
import { OAuthError } from '../oauth/errors.js'

/** The kind of body that a route accepts. */
export interface BodyKind {
  /** The media type in lower case. */
  readonly mediaType: string
  readonly maxBytes: number
  /** The error text for another media type, charset or content coding. */
  readonly refusal: string
}

/**
 * Returns true when there is a body to read. Throws 415 for another media type, charset or content coding, and 413
 * for a declared length over the limit.
 */
export const checkBodyHeaders = (request: IncomingMessage, kind: BodyKind): boolean => {
  const { mediaType, maxBytes } = kind
  const headers = request.headers
  const length = headers['content-length']
  const transfer = headers['transfer-encoding']
  if (transfer === undefined && (length === undefined || length === '0')) return false
  // No transfer coding other than `chunked` is decoded here (RFC 9112 §6.1).
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') throw unsupported(kind)
  const type = headers['content-type']
  if (type !== mediaType && !isOfType(type ?? '', mediaType)) throw unsupported(kind)
  const coding = headers['content-encoding']
  if (coding !== undefined && !(isAscii(coding) && coding.trim().toLowerCase() === 'identity')) throw unsupported(kind)
  if (Number(length ?? 0) > maxBytes) throw tooLarge()
  return true
}

/** Within ASCII, `trim` removes only spaces and tabs. A no-break space is whitespace to JavaScript, but not to HTTP. */
const isAscii = (header: string): boolean => /^[\t -~]*$/.test(header)

const isOfType = (contentType: string, mediaType: string): boolean => {
  const [type = '', ...parameters] = contentType.split(';')
  return isAscii(contentType) && type.trim().toLowerCase() === mediaType && parameters.every(isUtf8Charset)
}

const isUtf8Charset = (parameter: string): boolean => {
  const [name = '', value = ''] = parameter.toLowerCase().split('=')
  return name.trim() !== 'charset' || /^\s*(?:utf-8|"utf-8")\s*$/.test(value)
}

export const unsupported = ({ refusal }: BodyKind): OAuthError =>
  new OAuthError('invalid_request', refusal, { status: 415 })

export const tooLarge = (): OAuthError => new OAuthError('invalid_request', 'The body is too large.', { status: 413 })

/** The maximum number of pieces of one body. */
const maxPieces = 1024

/**
 * Closes the connection of a request whose body arrives in more pieces than an honest body can have. A chunk may be
 * one byte (RFC 9112 §7.1), and each keeps the event loop as busy as a kilobyte does (F27). This is for callers that
 * already read the body.
 */
export const limitPieces = (request: IncomingMessage): void => {
  let left = maxPieces
  request.on('data', () => {
    left -= 1
    if (left < 0) request.destroy()
  })
}

/** Throws 413 at the first byte over `maxBytes`; the rest is not kept. */
export const readBytes = (request: IncomingMessage, maxBytes: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > maxBytes) {
        request.off('data', onData)
        request.pause()
        reject(tooLarge())
      } else chunks.push(chunk)
    }
    request.on('data', onData)
    limitPieces(request)
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    request.on('error', (cause) => {
      reject(new OAuthError('invalid_request', 'The body was cut short.', { cause }))
    })
  })
