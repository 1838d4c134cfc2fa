import type { JsonObject } from '../json.js'
import { importKeySet, type ClientKey, type ClientKeySet, type WantedKey } from './client-key-set.js'
import type { Client } from './client.js'
import type { RemoteKeySets } from './remote-key-sets.js'

/** What of a client says where its keys are. */
export type KeyOwner = Pick<Client, 'client_id' | 'jwks' | 'jwks_uri'>

/** The public keys that clients registered: `jwks`, or what is behind `jwks_uri`. */
export interface ClientKeys {
  /**
   * The keys of this client that a signature may be by, none when nothing fits. A `kid` is looked for among the client's
   * own keys and nowhere else. Throws `Unavailable` when the set behind `jwks_uri` cannot be fetched.
   */
  find(client: KeyOwner, wanted: WantedKey): Promise<readonly ClientKey[]>
}

const maxSets = 1000

/** Imports each set once: clients of the store are other objects at each request, with the same text. */
const createImporter = () => {
  const byObject = new WeakMap<object, ClientKeySet>()
  const byText = new Map<string, ClientKeySet>()
  return (jwks: { readonly keys: readonly JsonObject[] }): ClientKeySet => {
    const known = byObject.get(jwks)
    if (known !== undefined) return known
    const text = JSON.stringify(jwks)
    const imported = byText.get(text) ?? importKeySet(jwks.keys)
    byText.delete(text)
    byText.set(text, imported)
    const [oldest] = byText.keys()
    if (byText.size > maxSets && oldest !== undefined) byText.delete(oldest)
    byObject.set(jwks, imported)
    return imported
  }
}

export const createClientKeys = (remote: RemoteKeySets): ClientKeys => {
  const importOnce = createImporter()
  return {
    async find({ client_id, jwks, jwks_uri }, wanted) {
      if (jwks !== undefined) return importOnce(jwks).select(wanted)
      return jwks_uri === undefined ? [] : remote.find(client_id, jwks_uri, wanted)
    },
  }
}
