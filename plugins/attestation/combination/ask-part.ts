import { z } from 'zod'
import { isObject, Unavailable } from '../../../core/api/index.js'
import type {
  EnrolmentContext,
  SecondFactorAccepted,
  SecondFactorDenied,
  SecondFactorVerifier,
} from '../../../core/api/attestation.js'

/** The caller's proof for one part. */
export const partProof = z.strictObject({ kind: z.string(), value: z.string() })

export type PartProof = z.output<typeof partProof>

/** Undefined when the text is not JSON of this form. */
export const readProof = <T>(text: string, form: z.ZodType<T>): T | undefined => {
  try {
    return form.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

export const malformed: SecondFactorDenied = { ok: false, reason: 'the proof of a combination is malformed' }

/** Verifies one part. Only `ok: true` accepts and only `ok: false` refuses; throws `Unavailable` for anything else. */
export const askPart = async (
  factor: SecondFactorVerifier,
  enrolment: EnrolmentContext,
  proof: PartProof,
): Promise<SecondFactorAccepted | SecondFactorDenied> => {
  const answer: unknown = await factor.verify(enrolment, proof)
  if (isObject(answer) && answer.ok === false) {
    const { reason, ...denied } = answer as unknown as SecondFactorDenied
    return { ...denied, reason: reason === undefined ? factor.kind : `${factor.kind}: ${reason}` }
  }
  const { ok, attributes } = isObject(answer) ? answer : {}
  if (ok !== true || (attributes !== undefined && !isObject(attributes)))
    throw new Unavailable(`attestation.${factor.kind}`, 'unknown', 'the plugin returned no answer')
  return answer as SecondFactorAccepted
}

/** Uses up one part. Returns false if it was already used. Throws `Unavailable` when the part gives neither answer. */
export const consumePart = async (factor: SecondFactorVerifier, part: SecondFactorAccepted): Promise<boolean> => {
  const used: unknown = part.consume === undefined || (await part.consume())
  if (typeof used !== 'boolean')
    throw new Unavailable(`attestation.${factor.kind}`, 'unknown', 'the plugin did not say whether it is used up')
  return used
}
