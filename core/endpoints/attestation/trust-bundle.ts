import { hash } from 'node:crypto'
import type { KeyRing } from '../../keys/ports.js'
import type { Declaration } from '../endpoint.js'
import type { Handler } from '../message.js'

/** `GET /trust-bundle.json` (SPIFFE Trust Domain and Bundle §4): the keys of workload identity tokens, from memory. */
export const trustBundleEndpoint = {
  path: '/trust-bundle.json',
  methods: ['GET'],
  body: 'none',
  cors: true,
  fromMemory: true,
  limit: { byAddress: 'documents', byRefusals: false },
} as const satisfies Declaration

export const createTrustBundleEndpoint = (ring: Pick<KeyRing, 'keySet' | 'states' | 'publishedKey'>): Handler => {
  let made: { readonly of: string; readonly body: string; readonly etag: string } | undefined

  /** Rebuilt only when the ring has rebuilt its key set. */
  const bundle = (of: string, maxAgeSeconds: number) => {
    if (made?.of === of) return made
    const keys = ring.states().flatMap(({ kid }) => {
      const key = ring.publishedKey(kid)
      return key?.purposes.includes('attestation') ? [{ ...key.jwk, use: 'wit-svid', kid, alg: key.alg }] : []
    })
    // Without `spiffe_sequence`, because replicas that do not communicate have no common number.
    const body = JSON.stringify({ keys, spiffe_refresh_hint: maxAgeSeconds })
    made = { of, body, etag: `"${hash('sha256', body, 'base64url')}"` }
    return made
  }

  return (request) => {
    const { etag: of, maxAgeSeconds } = ring.keySet()
    const { body, etag } = bundle(of, maxAgeSeconds)
    const headers = {
      'Content-Type': 'application/json',
      'Cache-Control': `public, max-age=${maxAgeSeconds}`,
      ETag: etag,
    }
    return request.header('if-none-match') === etag ? { status: 304, headers } : { status: 200, headers, body }
  }
}
