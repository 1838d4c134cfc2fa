import type { JsonObject } from '../json.js'
import type { VerificationKey } from '../jose/jwk.js'
import { importKeySet, type KeySet, type WantedKey } from '../jose/key-set.js'
import { RecentMap } from '../recent-map.js'
import type { RemoteKeySets } from './remote-key-sets.js'

/** Somebody who publishes keys: as a set, or at an address. */
export interface KeyOwner {
  readonly id: string
  readonly jwks?: { readonly keys: readonly JsonObject[] } | undefined
  readonly jwks_uri?: string | undefined
}

const maxSets = 1000

/** Imports each set once: clients of the store are other objects at each request, with the same text. */
const createImporter = () => {
  const byObject = new WeakMap<object, KeySet>()
  const byText = new RecentMap<string, KeySet>(maxSets)
  return (jwks: { readonly keys: readonly JsonObject[] }): KeySet => {
    const known = byObject.get(jwks)
    if (known !== undefined) return known
    const text = JSON.stringify(jwks)
    const imported = byText.get(text) ?? importKeySet(jwks.keys)
    byText.set(text, imported)
    byObject.set(jwks, imported)
    return imported
  }
}

/**
 * The keys of one owner that a signature may be by, none when nothing fits. A `kid` is looked for among the owner's own
 * keys and nowhere else. Throws `Unavailable` when the set behind `jwks_uri` cannot be fetched.
 */
export const createOwnerKeys = (remote: RemoteKeySets) => {
  const importOnce = createImporter()
  return async ({ id, jwks, jwks_uri }: KeyOwner, wanted: WantedKey): Promise<readonly VerificationKey[]> => {
    if (jwks !== undefined) return importOnce(jwks).select(wanted)
    return jwks_uri === undefined ? [] : remote.find(id, jwks_uri, wanted)
  }
}
