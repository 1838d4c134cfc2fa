import type { AuthorizationDetail } from '../oauth/requests/authorization-details.js'
import type { GrantedConsent } from '../oauth/requests/narrow-request.js'
import type { Answer } from './sign-in-method.js'

/** What a client asks a person for. */
export interface ConsentRequest {
  readonly clientId: string
  readonly clientName?: string
  /** The client registered itself and nobody has checked who is behind it, so the person must be warned. */
  readonly isUnchecked?: true
  readonly scope: readonly string[]
  /** Names of the personal claims that it requests individually (OIDC Core §5.5). */
  readonly claims: readonly string[]
  /** The resources that its tokens are meant for (RFC 8707). When empty, the default audience applies. */
  readonly resource: readonly string[]
  readonly authorizationDetails: readonly AuthorizationDetail[]
  /** Scopes that the person has allowed this client before. */
  readonly grantedScope: readonly string[]
  /**
   * The value in the request, separated by spaces. With `consent` the person must be asked again (OIDC Core
   * §3.1.2.1).
   */
  readonly prompt?: string
  readonly uiLocales: readonly string[]
}

/** One question to one person. The core creates it; nothing outside the core can choose or forge a member. */
export interface ConsentAttempt {
  /** A random value of 256 bits, base64url. It is bound to the interaction, the browser and the person. */
  readonly id: string
  readonly interactionId: string
  /** The local subject of the person who is asked. */
  readonly subject: string
  /** Where the browser comes back to. The browser's own cookie finishes the interaction there. */
  readonly finishUrl: string
  readonly request: ConsentRequest
  /** Aborted at the deadline of the request. */
  readonly signal: AbortSignal
}

export type ConsentResult =
  | ({ readonly outcome: 'allowed' } & GrantedConsent)
  | { readonly outcome: 'denied' }
  /** There is no answer yet. */
  | { readonly outcome: 'pending' }
  /** The browser did not bring the answer. Nothing is used up. `why` is a constant text for the audit log only. */
  | { readonly outcome: 'refused'; readonly why: string }

/**
 * Asks people for their consent elsewhere, instead of on the core's own page, when a client at the authorization
 * endpoint needs it. The core still decides when to ask, what may be granted and what happens with the answer.
 */
export interface ConsentMethod {
  /** The id in the audit log, as `SignInMethod.id`. */
  readonly id: string
  /** Returns the URL that the browser is sent to. Throws `Unavailable`. */
  begin(attempt: ConsentAttempt): Promise<string>
  /**
   * May be called several times for one attempt; the answer counts once. `query` is the untrusted query of
   * `finishUrl` as the browser came back. It tells the method that this browser was there, and not another one that
   * knows `finishUrl`. Throws `Unavailable`.
   */
  finish(attempt: Pick<ConsentAttempt, 'id' | 'signal'>, query: Answer): Promise<ConsentResult>
}
