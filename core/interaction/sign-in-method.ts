import type { JsonObject } from '../json.js'

/** Where a sign-in comes from: what guesses are counted under. */
export interface LoginOrigin {
  /** The caller's address, through trusted proxies only. */
  readonly address: string
  /**
   * An id of the browser, present when somebody has signed in in it before under the very username that was typed. Guesses
   * of such a browser are counted under it, so that strangers, who fill the count of the name, do not lock it out.
   */
  readonly knownBrowser?: string
}

/** What the client asked for, so that a method can pass it on. Absent or empty: the client did not say. */
export interface SignInRequest {
  /** Absent where the person signs in for a page of Signet. */
  readonly clientId?: string
  readonly clientName?: string
  readonly scopes: readonly string[]
  /** Values of `acr`, one of which the client wants, the preferred one first. */
  readonly acrValues: readonly string[]
  /** Seconds (OIDC Core §3.1.2.1). */
  readonly maxAge?: number
  /** As in the request, separated by spaces. */
  readonly prompt?: string
  readonly loginHint?: string
  readonly uiLocales: readonly string[]
}

/** The outcome of the methods before a second factor. */
export interface PassedMethods {
  readonly subject: string
  readonly amr: readonly string[]
}

/** One attempt to sign in with one method. The core makes it; nobody outside can choose or forge a member. */
export interface SignInAttempt {
  /**
   * 256 bits, base64url. Bound to the interaction and to the browser that began it, and used once. A redirect method sends it as
   * `state` and gets it back at `callbackUrl`.
   */
  readonly id: string
  readonly interactionId: string
  /** 32 random bytes, base64url: `nonce`, a WebAuthn challenge, a PKCE verifier can come from it. The same in `begin` and `finish`. */
  readonly challenge: string
  /** `{issuer}/sign-in/{method}/callback` */
  readonly callbackUrl: string
  readonly from: LoginOrigin
  readonly request: SignInRequest
  /** Who it is, by the methods before this one. Present for a second factor alone. */
  readonly passed?: PassedMethods
  /** What `begin` returned as `keep`. Only in `finish`. */
  readonly kept?: JsonObject
  /** Aborted at the deadline of the method. */
  readonly signal: AbortSignal
}

/** What the page shows for a method, or where the browser goes. `keep` (JSON, 4 KiB at most) comes back in `finish` as `kept`. */
export type Prompt =
  /**
   * Fields of the core: `username` and `password`, or `code`. Needs nothing kept. `recoveryCodes`: `code` takes a recovery code, too,
   * and the page says so.
   */
  | { readonly kind: 'form'; readonly fields: 'password' | 'code'; readonly recoveryCodes?: true }
  /** Options for a browser API, which the script of the page reads; its answer comes as the field `answer`. */
  | { readonly kind: 'ceremony'; readonly options: JsonObject; readonly keep?: JsonObject }
  | { readonly kind: 'redirect'; readonly url: string; readonly keep?: JsonObject }
  /** A second factor that this person does not have: the sign-in goes on without it. */
  | { readonly kind: 'none' }

/** Form fields, or the query of the callback. Untrusted, of any length. */
export type Answer = Readonly<Record<string, string>>

export type SignInResult =
  | {
      readonly outcome: 'passed'
      readonly subject: string
      /** How the person signed in (RFC 8176). */
      readonly amr: readonly string[]
      readonly acr?: string
      /** Seconds since the epoch, where the person signed in somewhere else, and earlier. Absent: now. */
      readonly authTime?: number
      /** What the person typed, or is called where the sign-in was. */
      readonly username?: string
      /**
       * The subject may be an account of the deployment itself. Without it, a method that is somewhere else signs in nobody who has one: a
       * service outside could name people whom it does not know.
       */
      readonly linksAccount?: true
    }
  /** Wrong, unknown or disabled: nobody can tell which. `subject` and `why`, a constant text, are for the audit log alone. */
  | { readonly outcome: 'refused'; readonly subject?: string | undefined; readonly why?: string }
  | { readonly outcome: 'locked'; readonly retryAfterSeconds: number; readonly subject?: string | undefined }

/** One way to sign in: `plugins/login/…`. */
export interface SignInMethod {
  /** `[a-z0-9-]`, 32 characters at most. Stable: it is in URLs and in the audit log. */
  readonly id: string
  /** A form on the page, a browser API on the page, or somewhere else and back. */
  readonly kind: 'form' | 'ceremony' | 'redirect'
  /** Every value that `amr` can have (RFC 8176). With it `signet check` finds an `acr` that nobody could reach. */
  readonly amr: readonly string[]
  /** What its button says, by language (BCP 47). Absent: the id. */
  readonly title?: Readonly<Record<string, string>>
  /** An https address of a picture for its button. */
  readonly logo?: string
  /** Ids of methods after which this one is asked, and only then. */
  readonly after?: readonly string[]
  /** The form that everybody gets who begins with this method: the page has it at once, and does not ask `begin`. */
  readonly form?: 'password'
  /** Throws `Unavailable`. */
  begin(attempt: SignInAttempt): Promise<Prompt>
  /**
   * Why a callback does not answer the attempt, a constant text for the audit log. Asked before the attempt is used up, so that a callback
   * of a browser that was not there costs nothing. Absent: `finish` decides alone. Throws `Unavailable`.
   */
  findFault?(attempt: Pick<SignInAttempt, 'id' | 'signal'>, answer: Answer): Promise<string | undefined>
  /** Takes the same time whatever is wrong. Throws `Unavailable`. */
  finish(attempt: SignInAttempt, answer: Answer): Promise<SignInResult>
  /**
   * Reads what came to `POST /sign-in/{id}/backchannel-logout` (OIDC Back-Channel Logout §2.5). Absent: there is no such endpoint.
   * Throws `Unavailable`.
   */
  endedElsewhere?(logoutToken: string, signal: AbortSignal): Promise<EndedElsewhere>
}

/** Whose sessions are over, as the place where they signed in says; or why it is not believed, a constant text for the audit log. */
export type EndedElsewhere =
  | {
      /** Undefined: nobody whom we know. */
      readonly subject: string | undefined
      /** Seconds since the epoch: sessions that began later go on. */
      readonly issuedAt: number
      /** Of this message, unique at the method (`jti`), at most 256 characters: it is taken once. */
      readonly id: string
    }
  | { readonly fault: string }
