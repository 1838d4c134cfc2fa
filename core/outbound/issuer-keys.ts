import type { JsonObject } from '../json.js'
import type { VerificationKey } from '../jose/jwk.js'
import type { WantedKey } from '../jose/key-set.js'
import { createOwnerKeys } from './owner-keys.js'
import type { RemoteKeySets } from './remote-key-sets.js'

/** An external token issuer. Exactly one of `jwks` and `jwks_uri` is present. */
export interface KeyIssuer {
  readonly issuer: string
  /** Public keys that have passed `checkPublicJwk`. */
  readonly jwks?: { readonly keys: readonly JsonObject[] } | undefined
  readonly jwks_uri?: string | undefined
}

/** Public keys of issuers that the deployer trusts, under the same limits as keys of clients. */
export interface IssuerKeys {
  /**
   * The keys that may have made a signature; empty when none fits. Throws `Unavailable` when `jwks_uri` cannot be
   * fetched.
   */
  find(issuer: KeyIssuer, wanted: WantedKey): Promise<readonly VerificationKey[]>
}

export const createIssuerKeys = (remote: RemoteKeySets): IssuerKeys => {
  const find = createOwnerKeys(remote)
  return {
    find: ({ issuer, jwks, jwks_uri }, wanted) =>
      find({ id: jwks_uri ?? issuer, jwks, jwks_uri }, (set) => set.select(wanted)),
  }
}
