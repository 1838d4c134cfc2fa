import type { AuthorizationRequest } from '../oauth/authorization-request.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../oauth/opaque-token.js'
import type { OneTimeStore } from '../storage/ports.js'
import type { Cookies } from './cookies.js'

/** An authorization request that waits for a person. Its id stands in URLs and is no secret. */
export interface Interaction {
  readonly request: AuthorizationRequest
  /** Hash of the cookie of the browser that began it: no other may go on with it (RFC 9700 §4.7). */
  readonly browser: string
}

const ttlSeconds = 600

/** The pages where a person answers. */
export type InteractionPage = 'login' | 'consent'

export interface Interactions {
  pageUrl(id: string, page: InteractionPage): string
  /** Stores a request for ten minutes and ties it to the browser. Throws `Unavailable`. */
  begin(
    request: AuthorizationRequest,
    browserCookie: string | undefined,
  ): Promise<{ readonly id: string; readonly cookies: readonly string[] }>
  /** Undefined when malformed, unknown, expired, or another browser's. Throws `Unavailable`. */
  find(id: string | undefined, browserCookie: string | undefined): Promise<Interaction | undefined>
  /** True for one caller: the one who may answer the client. Throws `Unavailable`. */
  redeem(id: string): Promise<boolean>
}

export interface InteractionOptions {
  readonly store: OneTimeStore<Interaction>
  readonly cookies: Cookies
  readonly issuer: string
}

export const createInteractions = ({ store, cookies, issuer }: InteractionOptions): Interactions => ({
  pageUrl: (id, page) => `${issuer}/interaction/${id}/${page}`,
  async begin(request, browserCookie) {
    // One cookie for all interactions of a browser, so that many tabs cannot fill its headers.
    const browser = isOpaqueToken(browserCookie) ? browserCookie : newOpaqueToken()
    const id = newOpaqueToken()
    await store.put(id, { request, browser: hashOpaqueToken(browser) }, ttlSeconds)
    return { id, cookies: browser === browserCookie ? [] : [cookies.set(cookies.browser, browser)] }
  },
  async find(id, browserCookie) {
    if (!isOpaqueToken(id) || !isOpaqueToken(browserCookie)) return undefined
    const interaction = await store.find(id)
    return interaction?.browser === hashOpaqueToken(browserCookie) ? interaction : undefined
  },
  redeem: async (id) => (await store.redeem(id)).outcome === 'won',
})
