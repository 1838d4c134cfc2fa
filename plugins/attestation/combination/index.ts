import { z } from 'zod'
import { definePlugin } from '../../../core/api/index.js'
import type { SecondFactorVerifier } from '../../../core/api/attestation.js'
import { askPart, malformed, partProof, readProof } from './ask-part.js'
import { verifyAll } from './verify-all.js'

const kind = z.string().min(1).max(64)
const parts = z
  .array(kind)
  .min(2)
  .refine((kinds) => new Set(kinds).size === kinds.length, 'names a kind twice')

const options = z
  .strictObject({ kind, all: parts.optional(), any: parts.optional() })
  .refine(({ all, any }) => (all === undefined) !== (any === undefined), 'must have either all or any')
  .refine(({ kind: own, all, any }) => !(all ?? any ?? []).includes(own), 'a combination cannot contain itself')

/** The proof is JSON `{ kind, value }`; the named part decides. */
const verifyAny = (factors: readonly SecondFactorVerifier[]): SecondFactorVerifier['verify'] => {
  const byKind = new Map(factors.map((factor) => [factor.kind, factor]))
  return async (enrolment, { value }) => {
    const proof = readProof(value, partProof)
    const factor = proof && byKind.get(proof.kind)
    return factor ? askPart(factor, enrolment, proof) : malformed
  }
}

/** Combines several second factors: all of them, or any one. */
export default definePlugin({
  name: 'attestation/combination',
  apiVersion: 1,
  options,
  needs: ['secondFactors'],
  create: ({ kind: own, all, any = [] }: z.output<typeof options>, { secondFactors }) => {
    const kinds = all ?? any
    const factors = kinds.map((name): SecondFactorVerifier => {
      const factor = secondFactors.get(name)
      if (factor === undefined)
        throw new Error(`no plugin before it provides the second factor ${name}; list ${own} after its parts`)
      return factor
    })
    const verify = all === undefined ? verifyAny(factors) : verifyAll(factors)
    return { secondFactors: [{ kind: own, parts: kinds, verify }] }
  },
})
