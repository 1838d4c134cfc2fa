import { createHash, timingSafeEqual } from 'node:crypto'
import type { EndpointRequest } from '../endpoints/message.js'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Does a request have this token (RFC 6750 §2.1)? In constant time. */
export const createBearer = (token: string): ((request: EndpointRequest) => boolean) => {
  const expected = digest(`Bearer ${token}`)
  return (request) => timingSafeEqual(digest(request.header('authorization') ?? ''), expected)
}
