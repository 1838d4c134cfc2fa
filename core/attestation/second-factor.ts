import type { JsonObject } from '../json.js'
import { askHook, checkGivenAttributes, hookFault } from './ask-hook.js'
import { attestationError } from './errors.js'
import type { EnrolmentContext, SecondFactorProof, SecondFactorVerifier } from './ports.js'

/** A second factor that was accepted but not used up yet. */
export interface AcceptedFactor {
  /** The granted attributes. */
  readonly attributes: JsonObject
  /** The component name of the factor for an outage, if the attributes come from it and not from the request. */
  readonly grantedBy: string | undefined
  readonly amr: readonly string[] | undefined
  /** Throws `SecondFactorFailed` when it was already used up, and `Unavailable`. */
  consume(): Promise<void>
}

export interface SecondFactors {
  /** Whether this kind can be presented by itself. For the audit log; no answer may depend on it. */
  has(kind: string): boolean
  /**
   * Throws `SecondFactorFailed` for a wrong factor and an unknown kind, `ApprovalPending` while a person has not
   * decided, and `Unavailable` for a fault.
   */
  check(enrolment: EnrolmentContext, proof: SecondFactorProof): Promise<AcceptedFactor>
}

/** The kinds that may be presented, without those that another factor combines. */
export const directKinds = (verifiers: ReadonlyMap<string, SecondFactorVerifier>): readonly string[] => {
  const parts = new Set([...verifiers.values()].flatMap((verifier) => verifier.parts ?? []))
  return [...verifiers.keys()].filter((kind) => !parts.has(kind))
}

export const createSecondFactors = (verifiers: ReadonlyMap<string, SecondFactorVerifier>): SecondFactors => {
  const direct = new Map(directKinds(verifiers).map((kind) => [kind, verifiers.get(kind)]))
  return {
    has: (kind) => direct.has(kind),
    async check(enrolment, proof) {
      const verifier = direct.get(proof.kind)
      if (verifier === undefined) throw attestationError('SecondFactorFailed', { reason: 'unknown second factor' })
      const component = `attestation.${verifier.kind}`
      const answer: unknown = await askHook(component, enrolment.signal, (signal) =>
        verifier.verify({ ...enrolment, signal }, proof),
      )
      return readAnswer(component, answer, enrolment)
    },
  }
}

/** Only `ok: true` accepts and only `ok: false` refuses. Anything else is a fault. */
const readAnswer = (component: string, answer: unknown, { attributes, signal }: EnrolmentContext): AcceptedFactor => {
  if (typeof answer !== 'object' || answer === null) throw hookFault(component, 'the plugin returned no answer')
  const members = answer as Readonly<Record<string, unknown>>
  const { ok, reason, retryAfterSeconds, attributes: granted, amr, consume } = members
  if (ok === false) {
    const why = typeof reason === 'string' ? { reason } : {}
    throw typeof retryAfterSeconds === 'number' && Number.isFinite(retryAfterSeconds)
      ? attestationError('ApprovalPending', { ...why, retryAfterSeconds })
      : attestationError('SecondFactorFailed', why)
  }
  if (ok !== true || (consume !== undefined && typeof consume !== 'function'))
    throw hookFault(component, 'the plugin returned no answer')
  return {
    attributes: granted === undefined ? attributes : checkGivenAttributes(component, granted),
    grantedBy: granted === undefined ? undefined : component,
    amr: Array.isArray(amr) ? amr.map(String) : undefined,
    async consume() {
      if (consume === undefined) return
      const used: unknown = await askHook(component, signal, () => consume.call(answer) as Promise<unknown>)
      if (used === false) throw attestationError('SecondFactorFailed', { reason: 'it was already used' })
      if (used !== true) throw hookFault(component, 'the plugin did not say whether the factor is used up')
    },
  }
}
