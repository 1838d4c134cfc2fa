import type { JsonObject } from '../json.js'
import { importKnownKeys, type KeySet } from '../jose/key-set.js'
import { RecentMap } from '../recent-map.js'
import type { PickKeys, RemoteKeySets } from './remote-key-sets.js'

/** A party that publishes keys as a set or at an address. */
export interface KeyOwner {
  readonly id: string
  readonly jwks?: { readonly keys: readonly JsonObject[] } | undefined
  readonly jwks_uri?: string | undefined
}

const maxSets = 1000

/** Imports each set once. Clients from the store are new objects at each request, with the same text. */
const createImporter = () => {
  const byObject = new WeakMap<object, KeySet>()
  const byText = new RecentMap<string, KeySet>(maxSets)
  return (jwks: { readonly keys: readonly JsonObject[] }): KeySet => {
    const known = byObject.get(jwks)
    if (known !== undefined) return known
    const text = JSON.stringify(jwks)
    const imported = byText.get(text) ?? importKnownKeys(jwks.keys)
    byText.set(text, imported)
    byObject.set(jwks, imported)
    return imported
  }
}

/**
 * The keys of one owner that `pick` selects; keys of other owners are never considered. `freshMs` is how long a
 * fetched set is used without asking again. Throws `Unavailable` when the set behind `jwks_uri` cannot be fetched.
 */
export const createOwnerKeys = (remote: RemoteKeySets) => {
  const importOnce = createImporter()
  return async <Key>(
    { id, jwks, jwks_uri }: KeyOwner,
    pick: PickKeys<Key>,
    freshMs?: number,
  ): Promise<readonly Key[]> => {
    if (jwks !== undefined) return pick(importOnce(jwks))
    return jwks_uri === undefined ? [] : remote.find(id, jwks_uri, pick, freshMs)
  }
}
