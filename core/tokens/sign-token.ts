import type { JsonObject } from '../json.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyRing, PublishedKey, SigningRequest } from '../keys/ports.js'
import { recordSignature, type SignatureRecord } from '../keys/signature-record.js'
import { serialize, signingInput } from './compact-serializer.js'
import { tokenLength, tooLong } from './fit-claims.js'
import type { TokenProfile } from './profiles.js'

export interface SignedToken {
  readonly token: string
  /** The published key that verifies the signature. */
  readonly publishedKey: PublishedKey
  readonly record: SignatureRecord
}

/**
 * Signs prepared claims, and returns what the audit log has to keep. Throws `invalid_request` when the token would be
 * too long, and `Unavailable`.
 */
export const createSignToken =
  (ring: Pick<KeyRing, 'sign'>) =>
  async (
    profile: TokenProfile,
    alg: JwsAlg,
    claims: JsonObject,
    { priority, clientId, signal }: Pick<SigningRequest, 'priority' | 'clientId' | 'signal'>,
  ): Promise<SignedToken> => {
    const { typ, purpose } = profile
    const input: SigningRequest['input'] = (key) => {
      const x5c = profile.certificatesOf?.(key.kid)
      const text = signingInput({ kid: key.kid, alg: key.alg, typ, x5c }, claims)
      if (tokenLength(text.length, key) > profile.maxLength) throw tooLong(profile)
      return text
    }
    const made = await ring.sign({ purpose, alg, priority, clientId, signal, input })
    const record = recordSignature(made, typ, purpose)
    return { token: serialize(made.input, made.signature), publishedKey: made.publishedKey, record }
  }
