import type { KeyRing } from '../keys/ports.js'
import type { Declaration } from './endpoint.js'
import type { Handler } from './message.js'

/** `GET /jwks.json` (RFC 7517 §5), served from memory, never from a signer. */
export const keySetEndpoint = {
  path: '/jwks.json',
  methods: ['GET'],
  body: 'none',
  cors: true,
  fromMemory: true,
  limit: { byAddress: 'documents', byRefusals: false },
  discovery: ({ issuer }) => ({ jwks_uri: `${issuer}/jwks.json` }),
} as const satisfies Declaration

export const createKeySetEndpoint =
  (ring: KeyRing): Handler =>
  (request) => {
    const { body, etag, maxAgeSeconds } = ring.keySet()
    const headers = {
      'Content-Type': 'application/jwk-set+json',
      'Cache-Control': `public, max-age=${maxAgeSeconds}`,
      ETag: etag,
    }
    return request.header('if-none-match') === etag ? { status: 304, headers } : { status: 200, headers, body }
  }
