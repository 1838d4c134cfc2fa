import { epochSeconds, type Clock } from '../../clock.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import type { OneTimeStore } from '../../storage/ports.js'
import type { AuthorizationRequest } from './authorization-request.js'
import { OAuthError } from '../errors.js'
import { said } from '../said.js'

/**
 * A request that its client has pushed (RFC 9126). It was checked then and is not checked again. It is a JSON value.
 */
export interface PushedRequest {
  readonly request: AuthorizationRequest
  /** Seconds since the epoch. `/authorize` opens it until then. */
  readonly expiresAt: number
}

const prefix = 'urn:ietf:params:oauth:request_uri:'

/** Recognises the `request_uri` of RFC 9126 §2.2. */
export const isPushedRequestUri = (uri: string): boolean => uri.startsWith(prefix)

/**
 * A request may be answered for this many seconds after it has expired, if it was opened before: the lifetime of an
 * interaction.
 */
const answerSeconds = 600

/**
 * The refusal is the same for a URI that is used, expired, unknown or another client's, so that the sender cannot
 * tell which.
 */
const unusableRequestUri = (reason: string): OAuthError =>
  new OAuthError('invalid_request_uri', said('request_over'), { reason })

export interface PushedRequests {
  /** Stores a request for `ttlSeconds` and returns its `request_uri`. Throws `Unavailable`. */
  push(request: AuthorizationRequest, ttlSeconds: number): Promise<string>
  /**
   * Returns the request of this client behind a `request_uri`; it may be opened repeatedly before its response. Its
   * member `pushed` is the id for `use`. Throws `invalid_request_uri`, `Unavailable`.
   */
  open(uri: string, clientId: string): Promise<AuthorizationRequest>
  /**
   * Call it before the only response to a request. Throws `invalid_request_uri` for all but the first caller;
   * `Unavailable`.
   */
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
