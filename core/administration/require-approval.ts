import { randomUUID } from 'node:crypto'
import { isoTime } from '../clock.js'
import { collections } from '../collections/collections.js'
import type { JsonObject, JsonValue } from '../json.js'
import { digestOf, kindOf, writeAction, type ActionDocument, type RequestedBy } from '../operators/action.js'
import type { ApprovalRecord } from '../operators/approval.js'
import type { Administration, Operator } from './administration.js'

/** An action that was not carried out, because other operators must approve it first. */
export class AwaitsApproval extends Error {
  override readonly name = 'AwaitsApproval'
  readonly approval: ApprovalRecord
  readonly document: ActionDocument
  /** Secrets that were made for the action. They are shown to the one who asked for it, now, and stored as hashes. */
  readonly secrets: JsonObject

  constructor(approval: ApprovalRecord, document: ActionDocument, secrets: JsonObject) {
    super(`This waits for the approval of other operators: ${approval.id}`)
    this.approval = approval
    this.document = document
    this.secrets = secrets
  }
}

/** An action that can be carried out later, by another process. */
export interface PlannedAction {
  readonly action: string
  /** `client:shop` */
  readonly object: string
  /** The version of the object, which must still be the same then; null if there is no object yet. */
  readonly from: JsonValue
  readonly to: JsonObject
  readonly secrets?: JsonObject | undefined
}

/** Returns the number of other operators who must approve an action. */
export const neededApprovals = (
  { config, approval }: Pick<Administration, 'config' | 'approval'>,
  action: string,
): number => {
  const kind = kindOf(action)
  return approval !== undefined || kind === undefined ? 0 : config.dual_control[kind]
}

/** Returns the operator as the audit log names them; commands on the host have no name of their own. */
export const requestedBy = (by: Operator): RequestedBy => ({
  ...by,
  operator: typeof by['operator'] === 'string' ? by['operator'] : 'local',
})

/** An action that has ended is kept for this time after it would have expired. */
const keptMs = 30 * 86_400_000

/**
 * Call before a change that other operators may have to approve. Returns if nobody must, or if they have. Throws
 * `AwaitsApproval` after the action was stored, and `Unavailable`.
 */
export const requireApproval = async (
  administration: Administration,
  by: Operator,
  { action, object, from, to, secrets = {} }: PlannedAction,
): Promise<void> => {
  const approvals = neededApprovals(administration, action)
  const kind = kindOf(action)
  if (approvals === 0 || kind === undefined) return
  const { config, clock, stores, audit } = administration
  const [id, now] = [randomUUID(), clock()]
  const expiresAt = now + config.approval_hours * 3_600_000
  const document: ActionDocument = {
    ...{ type: 'signet-action/1', id, deployment: config.issuer, kind, action, object },
    // Records of a store may have undefined members, or another order.
    ...{ from, to: JSON.parse(JSON.stringify(to)) as JsonObject, requested_by: requestedBy(by), approvals },
    ...{ at: isoTime(now), expires: isoTime(expiresAt) },
  }
  const text = writeAction(document)
  const record: ApprovalRecord = { id, document: text, state: 'waiting', approvals: [], expiresAt }
  await audit.record({
    event: 'approval.requested',
    approval: id,
    action,
    object,
    document: text,
    digest: digestOf(text),
    by,
  })
  await collections(stores).approvals.update(id, () => ({
    result: true,
    write: { record, expiresAt: expiresAt + keptMs },
  }))
  throw new AwaitsApproval(record, document, secrets)
}
