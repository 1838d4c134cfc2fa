import type { AuthorizationRequest } from '../oauth/requests/authorization-request.js'
import { OAuthError } from '../oauth/errors.js'
import { said } from '../oauth/said.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import type { OneTimeStore } from '../storage/ports.js'
import type { Cookies } from './cookies.js'
import { sizeOf, type Slot, type Slots } from './slots.js'

/**
 * What a person signs in for: a client's request, the page for typing the code of a device, or the person's own page.
 */
export type SignInPurpose =
  | { readonly request: AuthorizationRequest; readonly device?: undefined; readonly account?: undefined }
  | {
      readonly request?: undefined
      /** The user code that the page is prefilled with, in its stored form. */
      readonly device: { readonly userCode?: string }
      readonly account?: undefined
    }
  | {
      readonly request?: undefined
      readonly device?: undefined
      readonly account: AccountVisit
    }

/** The part of the person's own page that the person wants to open. */
export interface AccountVisit {
  /** The section as in its URL. When absent, the whole page is meant. */
  readonly section?: string
  /** An older sign-in is not enough. */
  readonly again?: true
}

/** An interaction that waits for a person. Its id appears in URLs and is not secret. */
export type Interaction = SignInPurpose & {
  /**
   * Hash of the cookie of the browser that began it; no other browser may continue it (RFC 9700 §4.7). Absent when
   * another site posted the request: then the first browser that opens the page takes it over.
   */
  readonly browser?: string
  /** The slot of the address that began it. It is released when the interaction is redeemed. */
  readonly place?: Slot | undefined
}

const ttlSeconds = 600

/** The pages on which a person answers. */
export type InteractionPage = 'select' | 'login' | 'consent'

export interface Interactions {
  pageUrl(id: string, page: InteractionPage): string
  /**
   * Stores the interaction for ten minutes and ties it to the browser. Throws `OAuthError` with status 429 when too
   * many are open for the address, and `Unavailable`.
   */
  begin(
    purpose: SignInPurpose,
    browserCookie: string | undefined,
    address: string,
  ): Promise<{ readonly id: string; readonly cookies: readonly string[] }>
  /** Begins an interaction as `begin` does, but tied to no browser. Returns the id. */
  beginUnbound(purpose: SignInPurpose, address: string): Promise<string>
  /**
   * Begins for this browser, under a new id, what another site posted. Only one caller succeeds. Returns undefined
   * when no such interaction waits for a browser. Throws as `begin` does.
   */
  claim(
    id: string | undefined,
    browserCookie: string | undefined,
    address: string,
  ): Promise<{ readonly id: string; readonly cookies: readonly string[] } | undefined>
  /**
   * Returns undefined for an id that is malformed, unknown, expired, or belongs to another browser. Throws
   * `Unavailable`.
   */
  find(id: string | undefined, browserCookie: string | undefined): Promise<Interaction | undefined>
  /** Returns true for one caller, who may answer the client. Throws `Unavailable`. */
  redeem(id: string): Promise<boolean>
}

export interface InteractionOptions {
  readonly store: OneTimeStore<Interaction>
  readonly cookies: Cookies
  readonly issuer: string
  /** Limits how many one address may have open. */
  readonly slots: Slots
}

/**
 * The cookie that ties forms to a browser, and the value to set when the browser had none. All interactions of a
 * browser share one cookie, so that many tabs cannot fill its headers.
 */
export const bindToBrowser = (cookies: Cookies, cookie: string | undefined) => {
  const browser = isOpaqueToken(cookie) ? cookie : newOpaqueToken()
  return { browser, cookies: browser === cookie ? [] : [cookies.set(cookies.browser, browser)] }
}

export const createInteractions = ({ store, cookies, issuer, slots }: InteractionOptions): Interactions => {
  const keep = async (interaction: Interaction, address: string): Promise<string> => {
    const entered = await slots.enter(address, ttlSeconds, sizeOf(interaction))
    if (!entered.allowed)
      throw new OAuthError('temporarily_unavailable', said('too_many_sign_ins'), {
        status: 429,
        reason: 'too many open sign-ins for one address',
        headers: { 'Retry-After': String(entered.retryAfterSeconds) },
      })
    const { place } = entered
    const id = newOpaqueToken()
    try {
      await store.put(id, { ...interaction, place }, ttlSeconds)
    } catch (error) {
      await slots.leave(place)
      throw error
    }
    return id
  }

  const redeem: Interactions['redeem'] = async (id) => {
    const redemption = await store.redeem(id)
    if (redemption.outcome !== 'won') return false
    await slots.leave(redemption.record.place)
    return true
  }

  const begin: Interactions['begin'] = async (purpose, browserCookie, address) => {
    const tied = bindToBrowser(cookies, browserCookie)
    const id = await keep({ ...purpose, browser: hashOpaqueToken(tied.browser) }, address)
    return { id, cookies: tied.cookies }
  }

  return {
    pageUrl: (id, page) => `${issuer}/interaction/${id}/${page}`,
    begin,
    beginUnbound: keep,
    async claim(id, browserCookie, address) {
      const unbound = isOpaqueToken(id) ? await store.findUnused(id) : undefined
      if (id === undefined || unbound === undefined || unbound.browser !== undefined) return undefined
      // The new one begins before the old one is redeemed, so that an outage does not cost the person the request.
      const interaction = await begin(unbound, browserCookie, address)
      return (await redeem(id)) ? interaction : undefined
    },
    async find(id, browserCookie) {
      if (!isOpaqueToken(id) || !isOpaqueToken(browserCookie)) return undefined
      const interaction = await store.find(id)
      return interaction?.browser === hashOpaqueToken(browserCookie) ? interaction : undefined
    },
    redeem,
  }
}
