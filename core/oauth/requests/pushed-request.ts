import { epochSeconds, type Clock } from '../../clock.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import type { OneTimeStore } from '../../storage/ports.js'
import type { AuthorizationRequest } from './authorization-request.js'
import { OAuthError } from '../errors.js'
import { said } from '../said.js'

/** A request that its client has pushed (RFC 9126): checked then, and not again. A JSON value. */
export interface PushedRequest {
  readonly request: AuthorizationRequest
  /** Seconds since the epoch: until then `/authorize` opens it. */
  readonly expiresAt: number
}

const prefix = 'urn:ietf:params:oauth:request_uri:'

/** RFC 9126 §2.2. */
export const isPushedRequestUri = (uri: string): boolean => uri.startsWith(prefix)

/** How long after it has expired somebody may still be answering a request that was opened before: the life of an interaction. */
const answerSeconds = 600

/** Used, expired, unknown and another client's: who presents it learns nothing of which. */
const unusableRequestUri = (reason: string): OAuthError =>
  new OAuthError('invalid_request_uri', said('request_over'), { reason })

export interface PushedRequests {
  /** Keeps a request for `ttlSeconds`, and gives its `request_uri`. Throws `Unavailable`. */
  push(request: AuthorizationRequest, ttlSeconds: number): Promise<string>
  /**
   * The request of this client behind a `request_uri`, as often as it is opened before its answer; `pushed` in it is the id
   * that `use` takes. Throws `invalid_request_uri`, `Unavailable`.
   */
  open(uri: string, clientId: string): Promise<AuthorizationRequest>
  /** To be called for the one answer of a request. Throws `invalid_request_uri` to all but the first caller; `Unavailable`. */
  use(pushed: string): Promise<void>
}

export const createPushedRequests = (store: OneTimeStore<PushedRequest>, clock: Clock): PushedRequests => ({
  async push(request, ttlSeconds) {
    const reference = newOpaqueToken()
    const expiresAt = epochSeconds(clock) + ttlSeconds
    await store.put(hashOpaqueToken(reference), { request, expiresAt }, ttlSeconds + answerSeconds)
    return prefix + reference
  },
  async open(uri, clientId) {
    const reference = uri.slice(prefix.length)
    if (!isOpaqueToken(reference)) throw unusableRequestUri('malformed request_uri')
    const pushed = hashOpaqueToken(reference)
    const found = await store.findUnused(pushed)
    if (found === undefined) throw unusableRequestUri('request_uri is unknown or was used')
    if (found.request.clientId !== clientId) throw unusableRequestUri('request_uri of another client')
    if (epochSeconds(clock) >= found.expiresAt) throw unusableRequestUri('request_uri has expired')
    return { ...found.request, pushed }
  },
  async use(pushed) {
    const { outcome } = await store.redeem(pushed)
    if (outcome !== 'won') throw unusableRequestUri('request_uri was used')
  },
})
