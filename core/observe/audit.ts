import type { JsonValue } from '../json.js'

/** The events of the audit log, one constant name per kind. */
export type AuditEventName =
  | 'configuration.loaded'
  | 'key.published'
  | 'key.activated'
  | 'key.retired'
  | 'key.withdrawn'
  | 'key.proved'
  | 'key.ceremony_refused'
  | 'slot.changed'
  | 'slot.delayed'
  | 'slot.overdue'
  | 'slot.recovered'
  | 'slot.signatures_ended'
  | 'signer.failover'
  | 'signer.circuit'
  | 'signer.quarantined'
  | 'signer.refused'
  | 'signer.recovered'
  | 'client.refused'
  | 'client.registered'
  | 'client.updated'
  | 'client.deleted'
  | 'registration.refused'
  | 'login.succeeded'
  | 'login.refused'
  | 'handoff.answered'
  | 'session.ended'
  | 'account.refused'
  | 'account.password_changed'
  | 'account.factor_added'
  | 'account.factor_removed'
  | 'account.recovery_started'
  | 'account.recovery_ended'
  | 'account.recovery_refused'
  | 'session.selected'
  | 'logout.refused'
  | 'logout.signed'
  | 'logout.delivered'
  | 'logout.undelivered'
  | 'consent.given'
  | 'consent.denied'
  | 'consent.withdrawn'
  | 'authorization.pushed'
  | 'authorization.signed'
  | 'authorization.granted'
  | 'authorization.refused'
  | 'code.reused'
  | 'device.started'
  | 'device.approved'
  | 'device.denied'
  | 'device.refused'
  | 'device.reused'
  | 'backchannel.started'
  | 'backchannel.approved'
  | 'backchannel.denied'
  | 'backchannel.pinged'
  | 'backchannel.unpinged'
  | 'backchannel.refused'
  | 'backchannel.reused'
  | 'approval.refused'
  | 'token.signed'
  | 'token.issued'
  | 'token.refused'
  | 'refresh.reused'
  | 'grant.revoked'
  | 'token.revoked'
  | 'subject.ended'
  | 'revocation.refused'
  | 'introspection.signed'
  | 'introspection.refused'
  | 'userinfo.released'
  | 'userinfo.refused'
  | 'principal.revoked'
  | 'attestation.challenged'
  | 'attestation.signed'
  | 'attestation.issued'
  | 'attestation.refused'
  | 'status_list.signed'
  | 'request.signed'
  | 'request.refused'
  | 'audit.signed'
  | 'refusals.dropped'
  | 'operator.refused'
  | 'administration.begun'
  | 'administration.read'
  | 'administration'
  | 'outage'
  | 'audit.continued'

/**
 * One event. It never holds a code, token, secret, assertion, cookie or password, only ids (`jti`, `grant_id`) and
 * digests.
 */
export interface AuditEvent {
  readonly event: AuditEventName
  readonly request_id?: string | undefined
  readonly client_id?: string | undefined
  readonly sub?: string | undefined
  readonly [field: string]: JsonValue | undefined
}

/** Records who got what, when, and signed by which key. */
export interface AuditLog {
  /** Resolves when the lines are written. Throws `Unavailable`, and then nothing may be issued (F34). */
  record(...events: readonly AuditEvent[]): Promise<void>
}
