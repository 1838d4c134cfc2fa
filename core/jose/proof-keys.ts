import type { JwsAlg } from './jwk.js'
import { checkPublicJwk, type GuardedKey } from './public-key-guard.js'
import { RecentMap } from '../recent-map.js'

export interface ProofKey extends GuardedKey {
  readonly alg: JwsAlg
}

const maxKeys = 4000
/** An RSA key of 4096 bits, and its members' names. */
const maxLength = 1024

/**
 * The guard for keys of proofs, with a memory: a client proves one key again and again, and importing one costs as much
 * as verifying its signature. Throws `BadJwk`.
 */
export const createProofKeys = () => {
  const known = new RecentMap<string, ProofKey>(maxKeys)

  return (jwk: unknown, alg: JwsAlg): ProofKey => {
    // The whole text: of two keys that differ in any member one may be refused.
    const text = `${alg} ${JSON.stringify(jwk)}`
    const remembered = known.get(text)
    if (remembered !== undefined) return remembered
    const key = { alg, ...checkPublicJwk(jwk, [alg]) }
    if (text.length <= maxLength) known.set(text, key)
    return key
  }
}
