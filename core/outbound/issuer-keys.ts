import type { JsonObject } from '../json.js'
import type { VerificationKey } from '../jose/jwk.js'
import type { WantedKey } from '../jose/key-set.js'
import { createOwnerKeys } from './owner-keys.js'
import type { RemoteKeySets } from './remote-key-sets.js'

/** Who signs tokens elsewhere. Exactly one of `jwks` and `jwks_uri` is there. */
export interface KeyIssuer {
  readonly issuer: string
  /** Public keys, each past `checkPublicJwk`. */
  readonly jwks?: { readonly keys: readonly JsonObject[] } | undefined
  readonly jwks_uri?: string | undefined
}

/** The public keys of issuers that the deployer trusts, with the limits that keys of clients have. */
export interface IssuerKeys {
  /** The keys that a signature may be by, none when nothing fits. Throws `Unavailable` when `jwks_uri` cannot be fetched. */
  find(issuer: KeyIssuer, wanted: WantedKey): Promise<readonly VerificationKey[]>
}

export const createIssuerKeys = (remote: RemoteKeySets): IssuerKeys => {
  const find = createOwnerKeys(remote)
  return {
    find: ({ issuer, jwks, jwks_uri }, wanted) =>
      find({ id: jwks_uri ?? issuer, jwks, jwks_uri }, (set) => set.select(wanted)),
  }
}
