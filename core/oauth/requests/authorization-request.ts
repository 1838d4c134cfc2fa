import type { AuthorizationDetail } from './authorization-details.js'
import type { WantedAcr } from './authentication-context.js'
import type { RequestedClaims } from '../grants/grant.js'

export type Prompt = 'none' | 'login' | 'consent' | 'select_account'
/** How the response is sent to the client. With `.jwt` it is signed (JARM §2.3). */
export type ResponseMode = 'query' | 'fragment' | 'form_post' | 'query.jwt' | 'fragment.jwt' | 'form_post.jwt'

/** Where the response goes, once the address is known to belong to the client (RFC 6749 §4.1.2). */
export interface AnswerTarget {
  readonly clientId: string
  readonly redirectUri: string
  /** False when none was sent and the only registered URI is used (RFC 6749 §3.1.2.3). */
  readonly redirectUriSent: boolean
  readonly responseMode: ResponseMode
  /** The value is returned unchanged. */
  readonly state?: string
  /** The well-formed tags of `ui_locales`, separated by spaces. */
  readonly locale?: string
  /** The id of the pushed request that the response uses up (RFC 9126 §4). */
  readonly pushed?: string
}

/** An authorization request whose parameters were all checked. It is a JSON value, because interactions store it. */
export interface AuthorizationRequest extends AnswerTarget {
  readonly scope: readonly string[]
  /** The value for the grant that it asks for. */
  readonly offline?: true
  /** Requested scopes that are unknown. */
  readonly ignoredScope?: readonly string[]
  /** Empty: the default audience is used (RFC 8707 §2). */
  readonly resource: readonly string[]
  readonly prompt: readonly Prompt[]
  readonly codeChallenge?: string
  /** The thumbprint that the code must be bound to (RFC 9449 §10). */
  readonly dpopJkt?: string
  readonly nonce?: string
  /** Seconds; from `max_age` or the client's `default_max_age`. */
  readonly maxAge?: number
  /** The value comes from the claim `acr`, `acr_values` or the client's `default_acr_values`. */
  readonly wantedAcr?: WantedAcr
  readonly requestedClaims?: RequestedClaims
  /** There is at least one (RFC 9396 §2). */
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** The only subject that may sign in: from `id_token_hint`, or from the claim `sub` (OIDC Core §3.1.2.1, §5.5.1). */
  readonly subject?: string
  readonly loginHint?: string
}
