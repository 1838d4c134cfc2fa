import type { KeyRing } from '../keys/ports.js'
import type { Endpoint } from './message.js'

/** `GET /jwks.json` (RFC 7517 §5): from memory, never from a signer. */
export const createKeySet =
  (ring: KeyRing): Endpoint =>
  (request) => {
    const { body, etag, maxAgeSeconds } = ring.keySet()
    const headers = {
      'Content-Type': 'application/jwk-set+json',
      'Cache-Control': `public, max-age=${maxAgeSeconds}`,
      ETag: etag,
    }
    return request.header('if-none-match') === etag ? { status: 304, headers } : { status: 200, headers, body }
  }
