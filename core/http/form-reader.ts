import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { OAuthError } from '../oauth/errors.js'
import { noParameters, parseParameters, type ParameterList } from '../oauth/requests/params.js'
import { checkBodyHeaders, readBytes, type BodyKind } from './body-bytes.js'

/** The maximum size of a form in bytes (docs/design/decisions.md#6-errors). */
export const maxBodyBytes = 64 * 1024

export const formBody: BodyKind = {
  mediaType: 'application/x-www-form-urlencoded',
  maxBytes: maxBodyBytes,
  refusal: 'The body must be application/x-www-form-urlencoded in UTF-8.',
}

/** Returns true when there is a form to read. Throws as `checkBodyHeaders`. */
export const checkFormHeaders = (request: IncomingMessage): boolean => checkBodyHeaders(request, formBody)

/** Parses parameters from the bytes of a form. Throws `invalid_request` when they are not UTF-8. */
export const parseForm = (bytes: Buffer): ParameterList => {
  if (!isUtf8(bytes)) throw new OAuthError('invalid_request', 'The body is not UTF-8.')
  return parseParameters(bytes.toString('utf8'))
}

/** Reads a form into flat strings. Throws as `checkFormHeaders` and `parseParameters` do. */
export const readForm = async (request: IncomingMessage): Promise<ParameterList> =>
  checkFormHeaders(request) ? parseForm(await readBytes(request, maxBodyBytes)) : noParameters
