import type { Client } from './client.js'
import { defaultContentEncryption, encryptJwt, type EncryptionKey, type JweAlg } from '../../jose/encryption.js'
import type { ClientEncryptionKeys } from './client-keys.js'
import { OAuthError } from '../errors.js'

/**
 * The responses that a client may have encrypted. Its metadata members begin with these words (OIDC Registration §2,
 * RFC 9701 §6, JARM §3).
 */
export const encryptedAnswers = ['id_token', 'userinfo', 'introspection', 'authorization'] as const
export type EncryptedAnswer = (typeof encryptedAnswers)[number]

/**
 * Encrypts what was signed for a client if the client registered encryption for this kind of response; otherwise it
 * resolves with `signed` unchanged. Throws `invalid_request` when the client no longer has a suitable key, and
 * `Unavailable` when its key set cannot be fetched.
 */
export type EncryptAnswer = (client: Client, answer: EncryptedAnswer, signed: string) => Promise<string>

const findKey = async (keys: ClientEncryptionKeys, client: Client, alg: JweAlg): Promise<EncryptionKey> => {
  const [key] = await keys.find(client, alg)
  if (key !== undefined) return key
  throw new OAuthError('invalid_request', 'The client has no key to encrypt to.', {
    reason: 'no encryption key of the client',
  })
}

export const createEncryptAnswer =
  (keys: ClientEncryptionKeys): EncryptAnswer =>
  async (client, answer, signed) => {
    const alg = client[`${answer}_encrypted_response_alg`]
    if (alg === undefined) return signed
    const key = await findKey(keys, client, alg)
    return encryptJwt(signed, key, client[`${answer}_encrypted_response_enc`] ?? defaultContentEncryption)
  }
