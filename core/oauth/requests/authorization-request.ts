import type { AuthorizationDetail } from './authorization-details.js'
import type { WantedAcr } from './authentication-context.js'
import type { RequestedClaims } from '../grants/grant.js'

export type Prompt = 'none' | 'login' | 'consent' | 'select_account'
/** How the answer goes to the client. With `.jwt` it is signed (JARM §2.3). */
export type ResponseMode = 'query' | 'fragment' | 'form_post' | 'query.jwt' | 'fragment.jwt' | 'form_post.jwt'

/** Where the answer goes, once that is known to be the client's (RFC 6749 §4.1.2). */
export interface AnswerTarget {
  readonly clientId: string
  readonly redirectUri: string
  /** False when the one registered URI was taken because none was sent (RFC 6749 §3.1.2.3). */
  readonly redirectUriSent: boolean
  readonly responseMode: ResponseMode
  /** Echoed as it came. */
  readonly state?: string
  /** The well-formed tags of `ui_locales`, with blanks between them. */
  readonly locale?: string
  /** The id of the pushed request that the answer uses up (RFC 9126 §4). */
  readonly pushed?: string
}

/** An authorization request of which every parameter was checked; a JSON value, as interactions store it. */
export interface AuthorizationRequest extends AnswerTarget {
  readonly scope: readonly string[]
  /** As of the grant that it asks for. */
  readonly offline?: true
  /** What was asked for and nobody knows. */
  readonly ignoredScope?: readonly string[]
  /** Empty: the default audience (RFC 8707 §2). */
  readonly resource: readonly string[]
  readonly prompt: readonly Prompt[]
  readonly codeChallenge?: string
  /** Thumbprint that the code is to be bound to (RFC 9449 §10). */
  readonly dpopJkt?: string
  readonly nonce?: string
  /** Seconds; from `max_age` or the client's `default_max_age`. */
  readonly maxAge?: number
  /** From the claim `acr`, `acr_values` or the client's `default_acr_values`. */
  readonly wantedAcr?: WantedAcr
  readonly requestedClaims?: RequestedClaims
  /** At least one (RFC 9396 §2). */
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** The one subject that may answer: of `id_token_hint`, or of the claim `sub` (OIDC Core §3.1.2.1, §5.5.1). */
  readonly subject?: string
  readonly loginHint?: string
}
