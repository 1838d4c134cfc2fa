import type { Clock } from '../../clock.js'
import { withoutFragment, type OutboundFetch } from '../../outbound/outbound-fetch.js'
import { RecentMap } from '../../recent-map.js'
import type { Client } from '../clients/client.js'
import { OAuthError } from '../errors.js'

/** The request objects behind a `request_uri` that a client has registered (RFC 9101 §5.2, OIDC Core §6.2). */
export interface RegisteredRequests {
  /**
   * Fetches the object, at most once a second, because the document behind a URI may change and anyone can name it.
   * Throws `invalid_request_uri` when the client has not registered the URI, and when the fetch fails (RFC 9101 §7).
   * A fragment is the hash of the document, by which clients name its version (OIDC Core §6.2). It is not compared
   * with anything, because the object is signed.
   */
  fetch(uri: string, client: Client): Promise<string>
}

/** After a failure a URI is not fetched for this time, because anyone can name a client's URI. */
const retryMs = 10_000
const maxFailures = 10_000

/** A fetched object is used for this time. */
const freshMs = 1000
const maxFresh = 256
/** A longer document is never accepted as a request object. */
const longestKept = 8192

const types = 'application/oauth-authz-req+jwt, application/jwt'

const refuse = (reason: string): OAuthError =>
  new OAuthError('invalid_request_uri', 'The request_uri is not registered, or cannot be read.', { reason })

export const createRegisteredRequests = (fetch: OutboundFetch, clock: Clock): RegisteredRequests => {
  const fresh = new RecentMap<string, { readonly at: number; readonly text: string }>(maxFresh)
  const pending = new Map<string, Promise<string>>()
  const failures = new RecentMap<string, { readonly at: number; readonly reason: string }>(maxFailures)

  const read = async (uri: string): Promise<string> => {
    try {
      const bytes = await fetch(withoutFragment(uri), types)
      const text = Buffer.from(bytes).toString('utf8')
      if (text.length <= longestKept) fresh.set(uri, { at: clock(), text })
      return text
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown error'
      failures.set(uri, { at: clock(), reason })
      throw refuse(`request_uri: ${reason}`)
    } finally {
      pending.delete(uri)
    }
  }

  return {
    async fetch(uri, { request_uris: registered = [] }) {
      if (!registered.includes(uri)) throw refuse('request_uri is not registered')
      const now = clock()
      const isWithin = (at: number, ms: number): boolean => now - at >= 0 && now - at < ms
      const known = fresh.get(uri)
      if (known !== undefined && isWithin(known.at, freshMs)) return known.text
      const failure = failures.get(uri)
      if (failure !== undefined && isWithin(failure.at, retryMs))
        throw refuse(`request_uri, a moment ago: ${failure.reason}`)
      // All waiting callers share one fetch.
      const begun = pending.get(uri) ?? read(uri)
      if (!pending.has(uri)) pending.set(uri, begun)
      return begun
    },
  }
}
