import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { OAuthError } from '../oauth/errors.js'
import { noParameters, parseParameters, type ParameterList } from '../oauth/params.js'

/** Bytes of a request body (decisions section 6). */
export const maxBodyBytes = 64 * 1024

const mediaType = 'application/x-www-form-urlencoded'

/**
 * Whether there is a form to read. Throws 415 for another media type, charset or content coding, 413 for a declared
 * length over the limit.
 */
export const checkFormHeaders = (request: IncomingMessage): boolean => {
  const headers = request.headers
  const length = headers['content-length']
  const transfer = headers['transfer-encoding']
  if (transfer === undefined && (length === undefined || length === '0')) return false
  // A transfer coding beside `chunked` is taken off by nobody here (RFC 9112 §6.1).
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') throw unsupported()
  const type = headers['content-type']
  if (type !== mediaType && !isForm(type ?? '')) throw unsupported()
  const coding = headers['content-encoding']
  if (coding !== undefined && coding.trim().toLowerCase() !== 'identity') throw unsupported()
  if (Number(length ?? 0) > maxBodyBytes) throw tooLarge()
  return true
}

const isForm = (contentType: string): boolean => {
  const [type = '', ...parameters] = contentType.split(';')
  return type.trim().toLowerCase() === mediaType && parameters.every(isUtf8Charset)
}

const isUtf8Charset = (parameter: string): boolean => {
  const [name = '', value = ''] = parameter.toLowerCase().split('=')
  return name.trim() !== 'charset' || /^\s*(?:utf-8|"utf-8")\s*$/.test(value)
}

const unsupported = (): OAuthError =>
  new OAuthError('invalid_request', 'The body must be application/x-www-form-urlencoded in UTF-8.', { status: 415 })

export const tooLarge = (): OAuthError => new OAuthError('invalid_request', 'The body is too large.', { status: 413 })

/** Parameters from the bytes of a form. Throws `invalid_request` when they are not UTF-8. */
export const parseForm = (bytes: Buffer): ParameterList => {
  if (!isUtf8(bytes)) throw new OAuthError('invalid_request', 'The body is not UTF-8.')
  return parseParameters(bytes.toString('utf8'))
}

/** Reads a form into flat strings. Throws as `checkFormHeaders` and `parseParameters` do. */
export const readForm = async (request: IncomingMessage): Promise<ParameterList> =>
  checkFormHeaders(request) ? parseForm(await readBytes(request)) : noParameters

const readBytes = (request: IncomingMessage): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > maxBodyBytes) {
        request.off('data', onData)
        request.pause()
        reject(tooLarge())
      } else chunks.push(chunk)
    }
    request.on('data', onData)
    request.once('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    request.once('error', (cause) => {
      reject(new OAuthError('invalid_request', 'The body was cut short.', { cause }))
    })
  })
