import type { AuthorizationDetail } from '../oauth/requests/authorization-details.js'
import type { GrantedConsent } from '../oauth/requests/narrow-request.js'
import type { Answer } from './sign-in-method.js'

/** What a client asks a person for. */
export interface ConsentRequest {
  readonly clientId: string
  readonly clientName?: string
  /** The client registered itself, and nobody has checked who is behind it: the person must be warned. */
  readonly isUnchecked?: true
  readonly scope: readonly string[]
  /** Names of the personal claims that it asks for one by one (OIDC Core §5.5). */
  readonly claims: readonly string[]
  /** What its tokens are to be for (RFC 8707). Empty: the default audience. */
  readonly resource: readonly string[]
  readonly authorizationDetails: readonly AuthorizationDetail[]
  /** Scopes that the person has allowed this client before. */
  readonly grantedScope: readonly string[]
  /** As in the request, separated by spaces. With `consent` the person must be asked again (OIDC Core §3.1.2.1). */
  readonly prompt?: string
  readonly uiLocales: readonly string[]
}

/** One question to one person. The core makes it; nobody outside can choose or forge a member. */
export interface ConsentAttempt {
  /** 256 bits, base64url. Bound to the interaction, the browser and the person. */
  readonly id: string
  readonly interactionId: string
  /** The local subject of the person who is asked. */
  readonly subject: string
  /** Where the browser comes back to: its own cookie finishes the interaction there. */
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
  /** The browser did not bring the answer. Nothing is used up; `why`, a constant text, is for the audit log alone. */
  | { readonly outcome: 'refused'; readonly why: string }

/**
 * Asks people for their consent elsewhere, instead of the core's own page: for the authorization endpoint, where a client needs
 * one. When to ask, what may be granted and what becomes of it stays the core's.
 */
export interface ConsentMethod {
  /** As `SignInMethod.id`: in the audit log. */
  readonly id: string
  /** Returns where the browser goes. Throws `Unavailable`. */
  begin(attempt: ConsentAttempt): Promise<string>
  /**
   * May be called several times for one attempt; the answer counts once. `query` is that of `finishUrl` as the browser came back, untrusted:
   * by it the method knows that this browser was with it, and not another that knows `finishUrl`. Throws `Unavailable`.
   */
  finish(attempt: Pick<ConsentAttempt, 'id' | 'signal'>, query: Answer): Promise<ConsentResult>
}
