import type { Client } from './client.js'
import type { SenderConstraint } from './grant.js'

/** What a client authentication method may look at. */
export interface TokenRequest {
  readonly params: ReadonlyMap<string, string>
  /** A header of the request by its lower-case name. */
  header(name: string): string | undefined
  /** The caller's address, through trusted proxies only. */
  readonly address: string
}

/** One client authentication method (OIDC Core §9, RFC 6749 §2.3). `E` is what `detect` found and `authenticate` needs. */
export interface ClientAuthenticator<E = unknown> {
  /** The value of `token_endpoint_auth_method`. */
  readonly method: string
  /**
   * Does the request use this method? Pure: no store, no network. Throws `OAuthError` when it does, wrongly.
   */
  detect(request: TokenRequest): { readonly clientId: string; readonly evidence: E } | undefined
  /** Resolves when the evidence proves the client; throws `OAuthError('invalid_client')` or `Unavailable`. */
  authenticate(client: Client, evidence: E, signal: AbortSignal): Promise<{ readonly confirmation?: SenderConstraint }>
}
