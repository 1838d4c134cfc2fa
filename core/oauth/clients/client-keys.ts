import type { EncryptionKey, JweAlg } from '../../jose/encryption.js'
import type { VerificationKey } from '../../jose/jwk.js'
import type { WantedKey } from '../../jose/key-set.js'
import { createOwnerKeys } from '../../outbound/owner-keys.js'
import type { RemoteKeySets } from '../../outbound/remote-key-sets.js'
import type { Client } from './client.js'

type KeyHolder = Pick<Client, 'client_id' | 'jwks' | 'jwks_uri'>

/** The public keys that clients registered: `jwks`, or what is behind `jwks_uri`. */
export interface ClientKeys {
  /**
   * The keys of this client that a signature may be by, none when nothing fits. A `kid` is looked for among the client's
   * own keys and nowhere else. Throws `Unavailable` when the set behind `jwks_uri` cannot be fetched.
   */
  find(client: KeyHolder, wanted: WantedKey): Promise<readonly VerificationKey[]>
}

export const createClientKeys = (remote: RemoteKeySets): ClientKeys => {
  const find = createOwnerKeys(remote)
  return {
    find: ({ client_id: id, jwks, jwks_uri }, wanted) => find({ id, jwks, jwks_uri }, (set) => set.select(wanted)),
  }
}

/** The public keys that clients registered to be encrypted to. */
export interface ClientEncryptionKeys {
  /** Those that fit, the preferred one first. Throws `Unavailable` when the set behind `jwks_uri` cannot be fetched. */
  find(client: KeyHolder, alg: JweAlg): Promise<readonly EncryptionKey[]>
}

/** A client that rotates its key reads with the old one for a minute more (OIDC Core §10.2.1). */
const freshMs = 60_000

export const createClientEncryptionKeys = (remote: RemoteKeySets): ClientEncryptionKeys => {
  const find = createOwnerKeys(remote)
  return {
    find: ({ client_id: id, jwks, jwks_uri }, alg) =>
      find({ id, jwks, jwks_uri }, (set) => set.selectForEncryption(alg), freshMs),
  }
}
