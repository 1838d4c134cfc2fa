import type { AuditLog } from '../observe/audit.js'

/** Audit lines of a request have its id. */
export const withRequestId = (audit: AuditLog, requestId: string): AuditLog => ({
  record: (...events) => audit.record(...events.map((event) => ({ request_id: requestId, ...event }))),
})
