import type { JsonObject } from '../json.js'

/** Where a sign-in comes from. Guesses are counted by it. */
export interface LoginOrigin {
  /** The caller's address, taken through trusted proxies only. */
  readonly address: string
  /**
   * An id of the browser, present after an earlier sign-in there under the same username that was typed. Guesses from
   * such a browser are counted under it, so that strangers who exhaust the count of the username do not lock it out.
   */
  readonly knownBrowser?: string
}

/**
 * What the client requested, so that a method can pass it on. A member is absent or empty when the client did not
 * say.
 */
export interface SignInRequest {
  /** Absent when the person signs in for a page of Signet. */
  readonly clientId?: string
  readonly clientName?: string
  readonly scopes: readonly string[]
  /** Values of `acr`, one of which the client wants, the preferred one first. */
  readonly acrValues: readonly string[]
  /** Seconds (OIDC Core §3.1.2.1). */
  readonly maxAge?: number
  /** The value in the request, separated by spaces. */
  readonly prompt?: string
  readonly loginHint?: string
  readonly uiLocales: readonly string[]
}

/** The outcome of the methods before a second factor. */
export interface PassedMethods {
  readonly subject: string
  readonly amr: readonly string[]
}

/**
 * One attempt to sign in with one method. The core creates it; nothing outside the core can choose or forge a member.
 */
export interface SignInAttempt {
  /**
   * A random value of 256 bits, base64url. It is bound to the interaction and to the browser that began it, and is
   * used once. A redirect method sends it as `state` and gets it back at `callbackUrl`.
   */
  readonly id: string
  readonly interactionId: string
  /**
   * 32 random bytes, base64url, from which a `nonce`, a WebAuthn challenge or a PKCE verifier can be derived. `begin`
   * and `finish` get the same value.
   */
  readonly challenge: string
  /** The URL `{issuer}/sign-in/{method}/callback`. */
  readonly callbackUrl: string
  readonly from: LoginOrigin
  readonly request: SignInRequest
  /** The person, as identified by the previous methods. Present only for a second factor. */
  readonly passed?: PassedMethods
  /** What `begin` returned as `keep`. Present only in `finish`. */
  readonly kept?: JsonObject
  /** Aborted at the deadline of the method. */
  readonly signal: AbortSignal
}

/**
 * What the page shows for a method, or where the browser is sent. `keep` (JSON, at most 4 KiB) comes back in `finish`
 * as `kept`.
 */
export type Prompt =
  /**
   * Fields that the core provides: `username` and `password`, or `code`. They need nothing kept. `recoveryCodes`
   * means that `code` also accepts a recovery code, and the page says so.
   */
  | { readonly kind: 'form'; readonly fields: 'password' | 'code'; readonly recoveryCodes?: true }
  /** Options for a browser API, which the script of the page reads. The result is sent as the field `answer`. */
  | { readonly kind: 'ceremony'; readonly options: JsonObject; readonly keep?: JsonObject }
  | { readonly kind: 'redirect'; readonly url: string; readonly keep?: JsonObject }
  /** This person does not have this second factor, and the sign-in continues without it. */
  | { readonly kind: 'none' }

/** Form fields, or the query of the callback. They are untrusted and of any length. */
export type Answer = Readonly<Record<string, string>>

export type SignInResult =
  | {
      readonly outcome: 'passed'
      readonly subject: string
      /** How the person signed in (RFC 8176). */
      readonly amr: readonly string[]
      readonly acr?: string
      /**
       * When the person signed in, in seconds since the epoch, if that was elsewhere and earlier. When absent, it is
       * now.
       */
      readonly authTime?: number
      /** What the person typed, or the username at the place of the sign-in. */
      readonly username?: string
      /**
       * The subject may be a local account of the deployment. Without this member, an external method cannot sign in
       * the holder of a local account, because an external service could otherwise name people whom it does not know.
       */
      readonly linksAccount?: true
    }
  /**
   * The credentials are wrong, or the account is unknown or disabled; the response does not reveal which. `subject`
   * and `why`, a constant text, are for the audit log only.
   */
  | { readonly outcome: 'refused'; readonly subject?: string | undefined; readonly why?: string }
  | { readonly outcome: 'locked'; readonly retryAfterSeconds: number; readonly subject?: string | undefined }

/** One way to sign in, implemented in `plugins/login/…`. */
export interface SignInMethod {
  /**
   * It matches `[a-z0-9-]`, with at most 32 characters. It must be stable, because it appears in URLs and in the
   * audit log.
   */
  readonly id: string
  /** How it works: a form on the page, a browser API on the page, or a redirect elsewhere and back. */
  readonly kind: 'form' | 'ceremony' | 'redirect'
  /** Every value that `amr` can have (RFC 8176). `signet check` uses it to find an `acr` that cannot be reached. */
  readonly amr: readonly string[]
  /** The label of its button, by language (BCP 47). When absent, the id is used. */
  readonly title?: Readonly<Record<string, string>>
  /** The https URL of a picture for its button. */
  readonly logo?: string
  /** Ids of methods. This method is asked only after one of them. */
  readonly after?: readonly string[]
  /** The same form for everyone who begins with this method. The page shows it at once and does not call `begin`. */
  readonly form?: 'password'
  /** Throws `Unavailable`. */
  begin(attempt: SignInAttempt): Promise<Prompt>
  /**
   * Returns why a callback does not answer the attempt, as a constant text for the audit log. It is called before the
   * attempt is used up, so that a callback from a browser that was not there costs nothing. When absent, `finish`
   * decides alone. Throws `Unavailable`.
   */
  findFault?(attempt: Pick<SignInAttempt, 'id' | 'signal'>, answer: Answer): Promise<string | undefined>
  /** Takes the same time whatever is wrong. Throws `Unavailable`. */
  finish(attempt: SignInAttempt, answer: Answer): Promise<SignInResult>
  /**
   * Reads a request to `POST /sign-in/{id}/backchannel-logout` (OIDC Back-Channel Logout §2.5). When absent, the
   * endpoint does not exist. Throws `Unavailable`.
   */
  endedElsewhere?(logoutToken: string, signal: AbortSignal): Promise<EndedElsewhere>
}

/**
 * The person whose sessions have ended, according to the place where they signed in, or why the message is not
 * trusted: a constant text for the audit log.
 */
export type EndedElsewhere =
  | {
      /** Undefined when the person is unknown here. */
      readonly subject: string | undefined
      /** This is in seconds since the epoch. Sessions that began later stay valid. */
      readonly issuedAt: number
      /**
       * The id of the message (`jti`), unique at the method and at most 256 characters long. Each id is accepted
       * once.
       */
      readonly id: string
    }
  | { readonly fault: string }
