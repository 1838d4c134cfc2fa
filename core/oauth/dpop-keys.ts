import type { JwsAlg } from '../keys/ports.js'
import { checkPublicJwk, type GuardedKey } from '../keys/public-key-guard.js'

export interface ProofKey extends GuardedKey {
  readonly alg: JwsAlg
}

const maxKeys = 2000
/** An RSA key of 4096 bits, and its members' names. */
const maxLength = 1024

/**
 * The guard for keys of proofs, with a memory: a client proves one key again and again, and importing one costs as much
 * as verifying its signature. What was least recently used is forgotten first. Throws `BadJwk`.
 */
export const createProofKeys = () => {
  const known = new Map<string, ProofKey>()

  return (jwk: unknown, alg: JwsAlg): ProofKey => {
    // The whole text: of two keys that differ in any member one may be refused.
    const text = `${alg} ${JSON.stringify(jwk)}`
    const remembered = known.get(text)
    if (remembered !== undefined) known.delete(text)
    const key = remembered ?? { alg, ...checkPublicJwk(jwk, [alg]) }
    if (text.length <= maxLength) known.set(text, key)
    if (known.size > maxKeys) known.delete(known.keys().next().value ?? '')
    return key
  }
}
