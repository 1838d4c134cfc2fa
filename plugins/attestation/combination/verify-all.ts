import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { JsonObject } from '../../../core/api/index.js'
import type { SecondFactorAccepted, SecondFactorVerifier } from '../../../core/api/attestation.js'
import { askPart, consumePart, malformed, partProof, readProof } from './ask-part.js'

const proofs = z.array(partProof)

/**
 * The proof is a JSON array of `{ kind, value }`, one per part. Parts are verified and used up in the order of the
 * configuration; the first refusal ends it.
 */
export const verifyAll =
  (factors: readonly SecondFactorVerifier[]): SecondFactorVerifier['verify'] =>
  async (enrolment, { value }) => {
    const given = readProof(value, proofs) ?? []
    const byKind = new Map(given.map((proof) => [proof.kind, proof]))
    const pairs = factors.flatMap((factor) => {
      const proof = byKind.get(factor.kind)
      return proof ? [{ factor, proof }] : []
    })
    if (given.length !== factors.length || pairs.length !== factors.length) return malformed

    const accepted: { readonly factor: SecondFactorVerifier; readonly answer: SecondFactorAccepted }[] = []
    for (const { factor, proof } of pairs) {
      const answer = await askPart(factor, enrolment, proof)
      if (!answer.ok) return answer
      accepted.push({ factor, answer })
    }
    const answers = accepted.map(({ answer }) => answer)
    const attributes = intersect(answers)
    return {
      ok: true,
      ...(attributes && { attributes }),
      amr: [...new Set(answers.flatMap(({ amr = [] }) => amr))],
      async consume() {
        for (const { factor, answer } of accepted) if (!(await consumePart(factor, answer))) return false
        return true
      },
    }
  }

/** Grants what every part that grants attributes grants with the same value. Undefined if no part grants any. */
const intersect = (answers: readonly SecondFactorAccepted[]): JsonObject | undefined => {
  const [first, ...others] = answers.flatMap(({ attributes }) => (attributes ? [attributes] : []))
  if (first === undefined) return undefined
  const agreed = Object.entries(first).filter(([name, value]) =>
    others.every((other) => Object.hasOwn(other, name) && isDeepStrictEqual(other[name], value)),
  )
  return Object.fromEntries(agreed)
}
