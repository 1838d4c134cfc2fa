import type { JsonObject } from '../json.js'
import { OAuthError } from '../oauth/errors.js'
import { said } from '../oauth/said.js'
import { hashOpaqueToken, isOpaqueToken } from '../opaque-token.js'
import type { OneTimeStore } from '../storage/ports.js'
import { sizeOf, type Slot, type Slots } from './slots.js'
import type { PassedSignIn } from './session.js'
import type { Prompt } from './sign-in-method.js'

/** The methods that a person has passed before a second factor. They sign nobody in yet. */
export interface PassedSoFar {
  /** The ids of the methods, in order. */
  readonly methods: readonly string[]
  /** The combined result of all of them. */
  readonly result: PassedSignIn
  /** What the person typed into the form of the first method. */
  readonly typed?: string
}

/** A method that has begun and waits for its answer. */
export interface OpenAttempt {
  /** The id of the method. */
  readonly method: string
  readonly interactionId: string
  readonly challenge: string
  /** When the first method began, in milliseconds since the epoch. */
  readonly begun: number
  /** What the page shows for it. */
  readonly prompt: Prompt
  readonly kept?: JsonObject
  readonly passed?: PassedSoFar
}

/** An attempt as it is stored. */
export interface AttemptRecord extends OpenAttempt {
  /** Hash of the cookie of the browser that began it; no other browser can answer it. */
  readonly browser: string
  readonly place?: Slot | undefined
}

/** Identifies the browser and the method that an answer comes from. */
export interface Answering {
  readonly browserCookie: string | undefined
  readonly method: string
  /** Absent when only the attempt says which interaction it belongs to. */
  readonly interactionId?: string
}

export interface SignInAttempts {
  /**
   * Stores an attempt for ten minutes and ties it to the browser. Throws `OAuthError` with status 429 when too many
   * are open for the address, and `Unavailable`.
   */
  open(id: string, attempt: OpenAttempt, browserCookie: string, address: string): Promise<void>
  /** Returns undefined for an attempt that is unknown, expired, used, or another browser's. Throws `Unavailable`. */
  find(id: string | undefined, browserCookie: string | undefined): Promise<OpenAttempt | undefined>
  /**
   * Redeems an attempt in one atomic step, for one caller. `used` means that this browser has answered it before.
   * `unknown` is also the result for another browser, method or interaction, which use nothing up. Throws
   * `Unavailable`.
   */
  redeem(
    id: string | undefined,
    by: Answering,
  ): Promise<
    | { readonly outcome: 'won'; readonly attempt: OpenAttempt }
    | { readonly outcome: 'used'; readonly interactionId: string }
    | { readonly outcome: 'unknown' }
  >
}

const ttlSeconds = 600
const maxKept = 4096

export const createSignInAttempts = (records: OneTimeStore<AttemptRecord>, slots: Slots): SignInAttempts => {
  const isOf = (record: AttemptRecord | undefined, cookie: string | undefined): record is AttemptRecord =>
    record !== undefined && isOpaqueToken(cookie) && record.browser === hashOpaqueToken(cookie)

  return {
    async open(id, attempt, browserCookie, address) {
      if (JSON.stringify(attempt.kept ?? {}).length > maxKept) throw new Error('A sign-in method keeps too much.')
      const entered = await slots.enter(address, ttlSeconds, sizeOf(attempt))
      if (!entered.allowed)
        throw new OAuthError('temporarily_unavailable', said('too_many_sign_ins'), {
          status: 429,
          reason: 'too many open attempts to sign in for one address',
          headers: { 'Retry-After': String(entered.retryAfterSeconds) },
        })
      const { place } = entered
      try {
        await records.put(id, { ...attempt, browser: hashOpaqueToken(browserCookie), place }, ttlSeconds)
      } catch (error) {
        await slots.leave(place)
        throw error
      }
    },
    async find(id, browserCookie) {
      const record = isOpaqueToken(id) ? await records.findUnused(id) : undefined
      return isOf(record, browserCookie) ? record : undefined
    },
    async redeem(id, { browserCookie, method, interactionId }) {
      const record = isOpaqueToken(id) ? await records.find(id) : undefined
      if (id === undefined || !isOf(record, browserCookie) || record.method !== method) return { outcome: 'unknown' }
      if (interactionId !== undefined && record.interactionId !== interactionId) return { outcome: 'unknown' }
      const redemption = await records.redeem(id)
      if (redemption.outcome === 'replayed') return { outcome: 'used', interactionId: record.interactionId }
      if (redemption.outcome === 'unknown') return { outcome: 'unknown' }
      await slots.leave(record.place)
      return { outcome: 'won', attempt: redemption.record }
    },
  }
}
