import { hideTokens } from '../opaque-token.js'
import { inEnglish, type Said } from './said.js'

/**
 * Every error code that an endpoint returns, with its HTTP status away from `/authorize`
 * (docs/design/decisions.md#6-errors).
 */
export const errorStatus = {
  invalid_request: 400,
  invalid_grant: 400,
  invalid_scope: 400,
  invalid_target: 400,
  unsupported_grant_type: 400,
  unauthorized_client: 400,
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  access_denied: 400,
  unknown_user_id: 400,
  invalid_binding_message: 400,
  invalid_dpop_proof: 400,
  use_dpop_nonce: 400,
  use_attestation_challenge: 400,
  use_fresh_attestation: 400,
  invalid_redirect_uri: 400,
  invalid_client_metadata: 400,
  invalid_software_statement: 400,
  unapproved_software_statement: 400,
  unsupported_response_type: 400,
  unsupported_response_mode: 400,
  login_required: 400,
  consent_required: 400,
  unmet_authentication_requirements: 400,
  request_uri_not_supported: 400,
  invalid_request_uri: 400,
  invalid_request_object: 400,
  registration_not_supported: 400,
  invalid_authorization_details: 400,
  invalid_client: 401,
  invalid_token: 401,
  insufficient_user_authentication: 401,
  insufficient_scope: 403,
  temporarily_unavailable: 503,
  server_error: 500,
} as const

export type ErrorCode = keyof typeof errorStatus

/** What is known about a request that did not authenticate its client. */
export interface AttemptedAuthentication {
  /** A `token_endpoint_auth_method`. */
  readonly method: string
  /** The methods that the named client may use. */
  readonly registered?: readonly string[]
}

/** Names of parameters and metadata with their values. `hint` says what to change, in English. */
export type ErrorFacts = Readonly<Record<string, string | undefined>>

/** The content of an error page. All of it is escaped. Texts are constant, and a string is English. */
export interface ShownError {
  readonly status: number
  readonly title: string | Said
  /** True when the message says what to do. */
  readonly isAdvised?: boolean
  readonly message: string | Said
  readonly requestId: string
  /** The client that sent the person. */
  readonly clientName?: string | undefined
  /** The client whose theme the page has. */
  readonly clientId?: string | undefined
  /** The page of that client where a person starts. */
  readonly backUrl?: string | undefined
  /** The URL where the person can sign out. */
  readonly signOutUrl?: string | undefined
  /** Details that help a developer. */
  readonly facts?: ErrorFacts | undefined
}

export interface ErrorDetails {
  /**
   * For the audit log only: the cause, for the operator. It never contains a secret and is never sent to the client.
   */
  readonly reason?: string
  /** For the audit log only: the existing client that the request named without proving to be it. */
  readonly claimedClientId?: string | undefined
  /** For the audit log only: the id of a client that does not exist, as `shownClientId` shows it. */
  readonly sentClientId?: string | undefined
  /**
   * For the audit log only: how a client tried to authenticate, and how it is registered to. It has names of methods
   * and nothing that was sent.
   */
  readonly clientAuthentication?: AttemptedAuthentication | undefined
  /** For the error page only: the display name of the client that sent the person. */
  readonly clientName?: string | undefined
  /**
   * For the error page only: its heading instead of the endpoint's; a string is English. The message says what to do.
   */
  readonly title?: string | Said | undefined
  /** For the error page only: the client whose theme the page has. The client must be known for certain. */
  readonly clientId?: string | undefined
  /** For the error page only: the start page of that client, from the addresses that it registered. */
  readonly backUrl?: string | undefined
  /** For the error page only: the address where the person can sign out without the request. */
  readonly signOutUrl?: string | undefined
  /**
   * For the error page only: details for a developer. Only a loopback issuer shows them, because they repeat what was
   * sent.
   */
  readonly facts?: ErrorFacts | undefined
  /** For the error page only: `ui_locales` of the request that failed. */
  readonly uiLocales?: string | undefined
  /** A status other than the one in the table: 405, 413, 415, 429. */
  readonly status?: number
  /** For rate limits only: a chain of certificates was checked and refused, which costs more than other refusals. */
  readonly isOfChain?: boolean | undefined
  /** The value of `error_code` in the response: the named errors of attestation. */
  readonly errorCode?: string
  /** Headers that are sent unchanged: `Allow`, `Retry-After`, `WWW-Authenticate`, `DPoP-Nonce`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

const brand = Symbol.for('signet.OAuthError')

/**
 * A refusal in the terms of RFC 6749 §5.2. `description` is a constant text that contains nothing of the input: a
 * string in English, or `said('key')`, which an error page shows in the language of the person. `reason` goes to the
 * audit log with the request id. Plugins refuse in this way too.
 */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly [brand] = true
  readonly code: ErrorCode
  readonly description: string
  /** The description that pages look up in other languages. Undefined: it is for developers, and in English only. */
  readonly said: Said | undefined
  readonly status: number
  readonly reason: string
  readonly errorCode: string | undefined
  readonly claimedClientId: string | undefined
  readonly clientAuthentication: AttemptedAuthentication | undefined
  readonly clientName: string | undefined
  readonly title: string | Said | undefined
  readonly clientId: string | undefined
  readonly backUrl: string | undefined
  readonly signOutUrl: string | undefined
  readonly facts: ErrorFacts | undefined
  readonly sentClientId: string | undefined
  readonly uiLocales: string | undefined
  readonly isOfChain: boolean
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, words: string | Said, details: ErrorDetails = {}) {
    const description = inEnglish(words)
    super(description, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.description = description
    this.said = typeof words === 'string' ? undefined : words
    this.status = details.status ?? errorStatus[code]
    this.reason = details.reason ?? description
    this.errorCode = details.errorCode
    this.claimedClientId = details.claimedClientId
    this.clientAuthentication = details.clientAuthentication
    this.clientName = details.clientName
    this.title = details.title
    this.clientId = details.clientId
    this.backUrl = details.backUrl
    this.signOutUrl = details.signOutUrl
    this.facts = details.facts
    this.sentClientId = details.sentClientId
    this.uiLocales = details.uiLocales
    this.isOfChain = details.isOfChain ?? false
    this.headers = details.headers ?? {}
  }

  /** A plugin may bring its own copy of this package; its refusals are recognised too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}

/** Returns the same refusal with these details instead of its own. */
export const withDetails = (error: OAuthError, details: ErrorDetails): OAuthError => {
  const { code, description, status, reason, errorCode, claimedClientId, clientAuthentication, headers, cause } = error
  const { clientName, title, clientId, backUrl, signOutUrl, facts, sentClientId, uiLocales, isOfChain } = error
  return new OAuthError(code, error.said ?? description, {
    status,
    reason,
    claimedClientId,
    clientAuthentication,
    clientName,
    title,
    clientId,
    backUrl,
    signOutUrl,
    facts,
    sentClientId,
    uiLocales,
    isOfChain,
    headers,
    cause,
    ...(errorCode !== undefined && { errorCode }),
    ...details,
  })
}

/** Shortens an id that no client has for logs and pages: at most 64 characters, printable ASCII only, and no token. */
export const shownClientId = (sent: string): string =>
  hideTokens(sent)
    .slice(0, 64)
    .replaceAll(/[^\x21-\x7e]/g, '?')
