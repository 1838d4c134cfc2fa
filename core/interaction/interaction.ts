import type { AuthorizationRequest } from '../oauth/authorization-request.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../oauth/opaque-token.js'
import type { OneTimeStore } from '../storage/ports.js'
import type { Cookies } from './cookies.js'

/** What a person signs in for: a client's request, or the page where the code of a device is typed. */
export type Occasion =
  | { readonly request: AuthorizationRequest; readonly device?: undefined }
  | {
      readonly request?: undefined
      /** The user code that the page is to be filled in with, in its stored form. */
      readonly device: { readonly userCode?: string }
    }

/** What waits for a person. Its id stands in URLs and is no secret. */
export type Interaction = Occasion & {
  /**
   * Hash of the cookie of the browser that began it: no other may go on with it (RFC 9700 §4.7). Absent: another site
   * posted the request, and the first browser that opens the page takes it over.
   */
  readonly browser?: string
}

const ttlSeconds = 600

/** The pages where a person answers. */
export type InteractionPage = 'login' | 'consent'

export interface Interactions {
  pageUrl(id: string, page: InteractionPage): string
  /** Stores what it is about for ten minutes and ties it to the browser. Throws `Unavailable`. */
  begin(
    occasion: Occasion,
    browserCookie: string | undefined,
  ): Promise<{ readonly id: string; readonly cookies: readonly string[] }>
  /** Stores what it is about for ten minutes, tied to no browser, and returns the id. Throws `Unavailable`. */
  beginUntied(occasion: Occasion): Promise<string>
  /**
   * Begins for this browser what another site posted, under an id of its own, for one caller. Undefined when no such
   * interaction waits for a browser. Throws `Unavailable`.
   */
  claim(
    id: string | undefined,
    browserCookie: string | undefined,
  ): Promise<{ readonly id: string; readonly cookies: readonly string[] } | undefined>
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

/**
 * The cookie that ties forms to a browser, and what to set where it had none. One for all interactions of a browser, so
 * that many tabs cannot fill its headers.
 */
export const tieToBrowser = (cookies: Cookies, cookie: string | undefined) => {
  const browser = isOpaqueToken(cookie) ? cookie : newOpaqueToken()
  return { browser, cookies: browser === cookie ? [] : [cookies.set(cookies.browser, browser)] }
}

export const createInteractions = ({ store, cookies, issuer }: InteractionOptions): Interactions => {
  const keep = async (interaction: Interaction): Promise<string> => {
    const id = newOpaqueToken()
    await store.put(id, interaction, ttlSeconds)
    return id
  }

  const redeem: Interactions['redeem'] = async (id) => (await store.redeem(id)).outcome === 'won'

  const begin: Interactions['begin'] = async (occasion, browserCookie) => {
    const tied = tieToBrowser(cookies, browserCookie)
    return { id: await keep({ ...occasion, browser: hashOpaqueToken(tied.browser) }), cookies: tied.cookies }
  }

  return {
    pageUrl: (id, page) => `${issuer}/interaction/${id}/${page}`,
    begin,
    beginUntied: keep,
    async claim(id, browserCookie) {
      const untied = isOpaqueToken(id) ? await store.findUnused(id) : undefined
      if (id === undefined || untied === undefined || untied.browser !== undefined) return undefined
      // Begun before the other is redeemed, so that an outage does not cost the person the request.
      const begun = await begin(untied, browserCookie)
      return (await redeem(id)) ? begun : undefined
    },
    async find(id, browserCookie) {
      if (!isOpaqueToken(id) || !isOpaqueToken(browserCookie)) return undefined
      const interaction = await store.find(id)
      return interaction?.browser === hashOpaqueToken(browserCookie) ? interaction : undefined
    },
    redeem,
  }
}
