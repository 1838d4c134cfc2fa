import type { JsonObject } from '../../json.js'
import type { AuditLog } from '../../observe/audit.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { DeviceCodeStore } from '../../storage/ports.js'
import type { Client } from '../clients/client.js'
import { reportDecision, type PingOutbox } from './ping.js'
import type { BackchannelApproval, BackchannelRequest } from './request.js'
import type { WaitingApproval, WaitingApprovals } from './waiting-approvals.js'

export interface PendingApprovalsOptions {
  readonly requests: Pick<DeviceCodeStore<BackchannelRequest, BackchannelApproval>, 'findByUserCode' | 'decide'>
  readonly waiting: Pick<WaitingApprovals, 'list' | 'leave'>
  readonly pings: PingOutbox
  readonly audit: AuditLog
  readonly defaultAudience: string
  /** The client that asked, where it is still registered. */
  findClient(clientId: string): Promise<Client | undefined>
}

/** A request that its person has not decided about. */
export interface PendingApproval extends WaitingApproval {
  readonly request: BackchannelRequest
}

/** Requests that wait for a person's decision. Every method throws `Unavailable`. */
export interface PendingApprovals {
  /** The oldest first. */
  list(subject: string): Promise<readonly PendingApproval[]>
  /**
   * Denies a request as the person would on a device: the client is notified, and `by` records in the audit log who
   * denied it. Returns false when it is not pending for this person, or another decision came first.
   */
  deny(subject: string, approvalId: string, by: JsonObject): Promise<boolean>
}

/** What the audit log has about a decision, apart from who took it. */
export const describeDecision = (
  { clientId: client_id, subject: sub, scope, resource }: BackchannelRequest,
  approvalId: string,
  defaultAudience: string,
) => ({
  client_id,
  sub,
  scope: scope.join(' '),
  resource: resource.length > 0 ? resource : [defaultAudience],
  approval: hashOpaqueToken(approvalId),
})

export const createPendingApprovals = (options: PendingApprovalsOptions): PendingApprovals => {
  const { requests, waiting, pings, audit, defaultAudience, findClient } = options
  return {
    async list(subject) {
      const entries = await waiting.list(subject)
      const found = await Promise.all(
        entries.map(async (entry) => {
          const code = await requests.findByUserCode(entry.approvalId)
          return code?.state === 'pending' ? [{ ...entry, request: code.request }] : []
        }),
      )
      return found.flat()
    },
    async deny(subject, approvalId, by) {
      const code = await requests.findByUserCode(approvalId)
      if (code?.state !== 'pending' || code.request.subject !== subject) return false
      const { request } = code
      const client = await findClient(request.clientId)
      if (client !== undefined) await reportDecision(pings, client, approvalId, request.ping)
      const { outcome } = await requests.decide(approvalId, 'denied')
      if (outcome !== 'won') return false
      await audit.record({
        event: 'backchannel.denied',
        ...describeDecision(request, approvalId, defaultAudience),
        ...by,
      })
      await waiting.leave(subject, approvalId)
      return true
    },
  }
}
