import { epochSeconds, type Clock } from '../clock.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { JsonObject } from '../json.js'
import { authorizationResponseSeconds, type KeyRing, type SignaturePriority } from '../keys/ports.js'
import type { Client } from '../oauth/clients/client.js'
import type { EncryptAnswer, EncryptedAnswer } from '../oauth/clients/encryption.js'
import { findTooLarge } from './fit-claims.js'
import { authorizationResponseProfile, introspectionProfile, userinfoProfile } from './profiles.js'
import type { createSignToken, SignedToken } from './sign-token.js'

export interface SignedAnswersOptions {
  readonly issuer: string
  readonly clock: Clock
  readonly ring: KeyRing
  readonly sign: ReturnType<typeof createSignToken>
  readonly encrypt: EncryptAnswer
}

/**
 * Signs, and encrypts where clients want it, the answers that are not tokens. Each function throws `Unavailable` when
 * no key can sign.
 */
export const createSignedAnswers = ({ issuer, clock, ring, sign, encrypt }: SignedAnswersOptions) => {
  const encrypted = async (client: Client, answer: EncryptedAnswer, signed: SignedToken): Promise<SignedToken> => ({
    ...signed,
    token: await encrypt(client, answer, signed.token),
  })
  return {
    /** Signs a `/userinfo` answer (OIDC Core §5.3.2), without the claims in `dropped`, which do not fit. */
    async signUserinfo(client: Client, alg: JwsAlg, claims: JsonObject, signal: AbortSignal) {
      const { sub, ...personal } = claims
      const own = { sub, iss: issuer, aud: client.client_id }
      const dropped = findTooLarge(ring, userinfoProfile, alg, { ...personal, ...own }, personal)
      const kept = Object.fromEntries(Object.entries(personal).filter(([name]) => !dropped.includes(name)))
      const by = { priority: 'sign_in', clientId: client.client_id, signal } as const
      const signed = await sign(userinfoProfile, alg, { ...kept, ...own }, by)
      return { ...(await encrypted(client, 'userinfo', signed)), dropped }
    },

    /**
     * Signs an answer of `/authorize` (JARM §2.1), which names the issuer, the client, the expiry and the parameters
     * of the response.
     */
    async signAuthorizationResponse(
      client: Client,
      alg: JwsAlg,
      response: Readonly<Record<string, string>>,
      { priority, signal }: { readonly priority: SignaturePriority; readonly signal: AbortSignal },
    ) {
      const exp = epochSeconds(clock) + authorizationResponseSeconds
      const content = { ...response, iss: issuer, aud: client.client_id, exp }
      const by = { priority, clientId: client.client_id, signal }
      return encrypted(client, 'authorization', await sign(authorizationResponseProfile, alg, content, by))
    },

    /**
     * Signs an `/introspect` answer (RFC 9701 §5). It has neither `sub` nor `exp` at the top level, so that it cannot
     * pass for a token.
     */
    async signIntrospection(client: Client, alg: JwsAlg, answer: JsonObject, signal: AbortSignal) {
      const content = { iss: issuer, aud: client.client_id, iat: epochSeconds(clock), token_introspection: answer }
      const by = { priority: 'machine', clientId: client.client_id, signal } as const
      return encrypted(client, 'introspection', await sign(introspectionProfile, alg, content, by))
    },
  }
}
