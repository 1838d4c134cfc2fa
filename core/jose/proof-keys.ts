import type { JwsAlg } from './jwk.js'
import { checkPublicJwk, type GuardedKey } from './public-key-guard.js'
import { RecentMap } from '../recent-map.js'

export interface ProofKey extends GuardedKey {
  readonly alg: JwsAlg
}

const maxKeys = 4000
/** Enough for an RSA key of 4096 bits with its member names. */
const maxLength = 1024

/**
 * The guard for proof keys, with a cache: clients use one key again and again, and importing it costs as much as
 * verifying a signature. Throws `BadJwk`.
 */
export const createProofKeys = () => {
  const known = new RecentMap<string, ProofKey>(maxKeys)

  return (jwk: unknown, alg: JwsAlg): ProofKey => {
    // The whole text is the cache key, because a key that differs in any member may have to be refused.
    const text = `${alg} ${JSON.stringify(jwk)}`
    const remembered = known.get(text)
    if (remembered !== undefined) return remembered
    const key = { alg, ...checkPublicJwk(jwk, [alg]) }
    if (text.length <= maxLength) known.set(text, key)
    return key
  }
}
