import type { SecondFactorVerifier } from '../../../core/api/attestation.js'
import { askPart, malformed, partProof, readProof } from './ask-part.js'

/** The proof is JSON `{ kind, value }`; the named part decides. */
export const verifyAny = (factors: readonly SecondFactorVerifier[]): SecondFactorVerifier['verify'] => {
  const byKind = new Map(factors.map((factor) => [factor.kind, factor]))
  return async (enrolment, { value }) => {
    const proof = readProof(value, partProof)
    const factor = proof && byKind.get(proof.kind)
    return factor ? askPart(factor, enrolment, proof) : malformed
  }
}
