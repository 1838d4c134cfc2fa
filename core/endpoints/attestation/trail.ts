import type { Principal, StatusQuestion } from '../../attestation/ports.js'
import { OAuthError } from '../../oauth/errors.js'
import type { Handler, EndpointRequest, Reply } from '../message.js'
import type { Refusals } from '../refusals.js'

/** What is known of a request of the ceremony, for the audit log. Never the factor's value, nor a challenge. */
export interface CeremonyTrail {
  step?: StatusQuestion['step']
  principal?: Principal
  /** The principal has passed its factor: the request has an open challenge of its own. */
  isProved?: true
  jkt?: string
  /** The kind of the second factor, where there is one of that name. */
  factor?: string
  /** The kind of the evidence, likewise. */
  evidence?: string
}

/** The fields that every event of the ceremony has. */
export const trailOf = ({ requestId }: EndpointRequest, { step, principal, jkt, factor, evidence }: CeremonyTrail) => ({
  request_id: requestId,
  step,
  sub: principal?.subject,
  did: principal?.principalId,
  principal_type: principal?.principalType,
  jkt,
  factor,
  evidence,
})

/** Records who was refused, and by which rule. Requests over a limit are counted by the metrics alone. */
export const recordingRefusals =
  (refusals: Refusals, answer: (http: EndpointRequest, seen: CeremonyTrail) => Promise<Reply>): Handler =>
  async (http) => {
    const seen: CeremonyTrail = {}
    try {
      return await answer(http, seen)
    } catch (error) {
      if (error instanceof OAuthError && error.status !== 429) {
        const proved = seen.isProved ? { sub: seen.principal?.subject ?? '' } : {}
        await refusals.record(http, { event: 'attestation.refused', why: error, trail: trailOf(http, seen), ...proved })
      }
      throw error
    }
  }
