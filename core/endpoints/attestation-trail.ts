import type { Principal, StatusQuestion } from '../attestation/ports.js'
import { OAuthError } from '../oauth/errors.js'
import type { AuditLog } from '../observe/audit.js'
import type { Endpoint, EndpointRequest, Reply } from './message.js'

/** What is known of a request of the ceremony, for the audit log. Never the factor's value, nor a challenge. */
export interface Seen {
  step?: StatusQuestion['step']
  principal?: Principal
  jkt?: string
  /** The kind of the second factor, where there is one of that name. */
  factor?: string
}

/** The fields that every event of the ceremony has. */
export const trailOf = ({ requestId }: EndpointRequest, { step, principal, jkt, factor }: Seen) => ({
  request_id: requestId,
  step,
  sub: principal?.subject,
  did: principal?.principalId,
  principal_type: principal?.principalType,
  jkt,
  factor,
})

/** Tells the audit log who was refused, and by which rule. Requests over a limit are counted, not written down one by one. */
export const auditRefusals =
  (audit: AuditLog, answer: (http: EndpointRequest, seen: Seen) => Promise<Reply>): Endpoint =>
  async (http) => {
    const seen: Seen = {}
    try {
      return await answer(http, seen)
    } catch (error) {
      if (error instanceof OAuthError && error.status !== 429) {
        const { code, errorCode, reason } = error
        const refusal = { error: code, error_code: errorCode, reason }
        await audit.record({ event: 'attestation.refused', ...trailOf(http, seen), ...refusal })
      }
      throw error
    }
  }
