import type { EncryptionKey, JweAlg } from '../../jose/encryption.js'
import type { VerificationKey } from '../../jose/jwk.js'
import type { WantedKey } from '../../jose/key-set.js'
import { createOwnerKeys } from '../../outbound/owner-keys.js'
import type { RemoteKeySets } from '../../outbound/remote-key-sets.js'
import type { Client } from './client.js'

type KeyHolder = Pick<Client, 'client_id' | 'jwks' | 'jwks_uri'>

/** The public keys that clients registered, either in `jwks` or behind `jwks_uri`. */
export interface ClientKeys {
  /**
   * Returns the keys of this client that may have made a signature; the list is empty when none fits. A `kid` is
   * looked up among the client's own keys only. Throws `Unavailable` when the set behind `jwks_uri` cannot be
   * fetched.
   */
  find(client: KeyHolder, wanted: WantedKey): Promise<readonly VerificationKey[]>
}

export const createClientKeys = (remote: RemoteKeySets): ClientKeys => {
  const find = createOwnerKeys(remote)
  return {
    find: ({ client_id: id, jwks, jwks_uri }, wanted) => find({ id, jwks, jwks_uri }, (set) => set.select(wanted)),
  }
}

/** The public keys that clients registered for encryption to them. */
export interface ClientEncryptionKeys {
  /**
   * Returns the keys that fit, the preferred one first. Throws `Unavailable` when the set behind `jwks_uri` cannot be
   * fetched.
   */
  find(client: KeyHolder, alg: JweAlg): Promise<readonly EncryptionKey[]>
}

/** A client that rotates its key can still decrypt with the old one for a minute (OIDC Core §10.2.1). */
const freshMs = 60_000

export const createClientEncryptionKeys = (remote: RemoteKeySets): ClientEncryptionKeys => {
  const find = createOwnerKeys(remote)
  return {
    find: ({ client_id: id, jwks, jwks_uri }, alg) =>
      find({ id, jwks, jwks_uri }, (set) => set.selectForEncryption(alg), freshMs),
  }
}
