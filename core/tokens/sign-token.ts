import { hash } from 'node:crypto'
import type { JsonObject } from '../json.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyPurpose, KeyRing, PublishedKey, SigningRequest } from '../keys/ports.js'
import { serialize, signingInput } from './compact-serializer.js'
import { tokenLength, tooLong } from './fit-claims.js'
import type { TokenProfile } from './profiles.js'

/**
 * What the audit log keeps of a signature: enough to find it in the signer's own log, but nothing that could replay
 * it.
 */
export type SignatureRecord = {
  readonly kid: string
  readonly alg: JwsAlg
  readonly typ: string
  readonly purpose: KeyPurpose
  /** The SHA-256 hash of what was signed, in base64url. */
  readonly digest: string
  /** The name of the signer in the configuration. */
  readonly signer: string
  /** The reference by which the backend's own log names the signature. */
  readonly reference: string | undefined
  readonly key_version: string | undefined
}

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
    const { kid, signer, reference, keyVersion } = made
    const digest = hash('sha256', made.input, 'base64url')
    const record = { kid, alg: made.alg, typ, purpose, digest, signer, reference, key_version: keyVersion }
    return { token: serialize(made.input, made.signature), publishedKey: made.publishedKey, record }
  }
