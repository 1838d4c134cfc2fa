import { epochSeconds, type Clock } from '../clock.js'
import { maxTokenLength } from '../jose/compact-jws.js'
import type { JwsAlg } from '../jose/jwk.js'
import { logoutTokenSeconds, type KeyRing } from '../keys/ports.js'
import type { Client } from '../oauth/clients/client.js'
import type { Subjects } from '../oauth/subjects/subjects.js'
import { concealPeople } from './people-in-claims.js'
import type { TokenProfile } from './profiles.js'
import { createSignToken, type SignedToken } from './sign-token.js'

export const logoutTokenProfile: TokenProfile = {
  typ: 'logout+jwt',
  purpose: 'logout_token',
  maxLength: maxTokenLength,
}

export interface LogoutTokenOptions {
  readonly issuer: string
  readonly ring: Pick<KeyRing, 'sign'>
  readonly clock: Clock
  readonly subjects: Subjects
  /** The algorithm for clients that registered none for ID tokens. */
  readonly idTokenAlg: JwsAlg
}

/**
 * Signs a logout token for a client (OIDC Back-Channel Logout §2.4), with the algorithm of its ID tokens. `about`
 * holds local subjects; the token holds those that the client knows. It has no `nonce`, so it cannot pass for an ID
 * token. Throws `Unavailable`.
 */
export type SignLogoutToken = (
  client: Client,
  about: { readonly subject: string; readonly sid: string; readonly jti: string },
  signal: AbortSignal,
) => Promise<SignedToken>

export const createSignLogoutToken = ({
  issuer,
  ring,
  clock,
  subjects,
  idTokenAlg,
}: LogoutTokenOptions): SignLogoutToken => {
  const sign = createSignToken(ring)
  return (client, { subject, sid, jti }, signal) => {
    const issuedAt = epochSeconds(clock)
    const claims = {
      iss: issuer,
      sub: subject,
      aud: client.client_id,
      iat: issuedAt,
      exp: issuedAt + logoutTokenSeconds,
      jti,
      sid,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    }
    const by = { priority: 'machine', clientId: client.client_id, signal } as const
    const concealed = concealPeople(client, claims, subjects, 'unsealed')
    return sign(logoutTokenProfile, client.id_token_signed_response_alg ?? idTokenAlg, concealed, by)
  }
}
