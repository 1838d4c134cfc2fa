import { createHash, timingSafeEqual } from 'node:crypto'
import type { EndpointRequest } from '../endpoints/message.js'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The name of the scheme is case-insensitive (RFC 9110 §11.1). */
const credentials = /^bearer +([^ ].*)$/i

/** Returns a function that checks, in constant time, whether a request has this token (RFC 6750 §2.1). */
export const createBearer = (token: string): ((request: Pick<EndpointRequest, 'header'>) => boolean) => {
  const expected = digest(token)
  return (request) =>
    timingSafeEqual(digest(credentials.exec(request.header('authorization') ?? '')?.[1] ?? ''), expected)
}
