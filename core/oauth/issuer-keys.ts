import type { JsonObject } from '../json.js'
import { createClientKeys } from './client-keys.js'
import type { ClientKey, WantedKey } from './client-key-set.js'
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
  find(issuer: KeyIssuer, wanted: WantedKey): Promise<readonly ClientKey[]>
}

export const createIssuerKeys = (remote: RemoteKeySets): IssuerKeys => {
  const keys = createClientKeys(remote)
  return {
    find: ({ issuer, jwks, jwks_uri }, wanted) =>
      keys.find(
        { client_id: jwks_uri ?? issuer, ...(jwks && { jwks }), ...(jwks_uri !== undefined && { jwks_uri }) },
        wanted,
      ),
  }
}
