import type { IncomingMessage } from 'node:http'
import { checkBodyHeaders, readBytes, type BodyKind } from './body-bytes.js'

const jsonBody: BodyKind = {
  mediaType: 'application/json',
  maxBytes: 32 * 1024,
  refusal: 'The body must be application/json in UTF-8.',
}

/** The bytes of a JSON body; none where there was no body. Throws as `checkBodyHeaders` and `readBytes`. */
export const readJsonBody = async (request: IncomingMessage): Promise<Buffer> =>
  checkBodyHeaders(request, jsonBody) ? readBytes(request, jsonBody.maxBytes) : Buffer.alloc(0)
