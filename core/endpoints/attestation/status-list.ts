import type { ListPublication, SignedList } from '../../attestation/status-list/publication.js'
import { OAuthError } from '../../oauth/errors.js'
import type { Declaration } from '../endpoint.js'
import type { EndpointRequest, Handler, Reply } from '../message.js'

/** `GET /status-lists/{id}` (draft-ietf-oauth-status-list-20 §8): which attestations are revoked, signed. */
export const statusListEndpoint = {
  path: '/status-lists/{id}',
  methods: ['GET'],
  body: 'none',
  cors: true,
  fromMemory: true,
  limit: { byAddress: 'documents', byRefusals: false },
} as const satisfies Declaration

export const createStatusListEndpoint = (publication: ListPublication): Handler => {
  // No longer than this process trusts its own copy, so that caches in between do not extend the list's `ttl`.
  const cacheControl = `public, max-age=${String(publication.refreshSeconds)}`

  const reply = (request: EndpointRequest, { body, etag }: SignedList): Reply => {
    const headers = { 'Content-Type': 'application/statuslist+jwt', 'Cache-Control': cacheControl, ETag: etag }
    return request.header('if-none-match') === etag ? { status: 304, headers } : { status: 200, headers, body }
  }

  return (request) => {
    // §8.4: a request for the past must not be answered with the present.
    if (request.query.values.has('time') || request.query.repeated.has('time'))
      throw new OAuthError('invalid_request', 'Lists of earlier times are not kept.', { status: 501 })
    const list = publication.get(request.path.get('id') ?? '')
    return list instanceof Promise ? list.then((signed) => reply(request, signed)) : reply(request, list)
  }
}
