import type { Principal, StatusQuestion } from '../../attestation/ports.js'
import { OAuthError } from '../../oauth/errors.js'
import type { Handler, EndpointRequest, Reply } from '../message.js'
import type { Refusals } from '../refusals.js'

/** What is known about a request of the ceremony, for the audit log; never the factor's value or a challenge. */
export interface CeremonyContext {
  step?: StatusQuestion['step']
  principal?: Principal
  /** Set when the principal has passed its factor, so the request has its own open challenge. */
  isProved?: true
  jkt?: string
  /** The kind of the second factor, if it exists. */
  factor?: string
  /** The kind of the evidence, if it exists. */
  evidence?: string
}

/** Fields that all events of the ceremony have. */
export const auditContextOf = (
  { requestId }: EndpointRequest,
  { step, principal, jkt, factor, evidence }: CeremonyContext,
) => ({
  request_id: requestId,
  step,
  sub: principal?.subject,
  did: principal?.principalId,
  principal_type: principal?.principalType,
  jkt,
  factor,
  evidence,
})

/** Records who was refused, and by which rule. Requests over a limit are only counted in the metrics. */
export const recordingRefusals =
  (refusals: Refusals, answer: (http: EndpointRequest, seen: CeremonyContext) => Promise<Reply>): Handler =>
  async (http) => {
    const seen: CeremonyContext = {}
    try {
      return await answer(http, seen)
    } catch (error) {
      if (error instanceof OAuthError && error.status !== 429) {
        const proved = seen.isProved ? { sub: seen.principal?.subject ?? '' } : {}
        await refusals.record(http, {
          event: 'attestation.refused',
          why: error,
          auditFields: auditContextOf(http, seen),
          ...proved,
        })
      }
      throw error
    }
  }
