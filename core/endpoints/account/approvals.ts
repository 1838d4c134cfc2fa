import type { ApprovalOnPage } from '../../interaction/pages/account-page.js'
import type { PendingApproval, PendingApprovals } from '../../oauth/ciba/pending-approvals.js'
import { isOpaqueToken } from '../../opaque-token.js'
import type { CommonOptions, RequestRules } from '../authorization-flow/options.js'
import { clientOnPage } from '../authorization-flow/page-form.js'
import { createDescribeDetail, maxShownDetails } from './describe-detail.js'
import { auditContextOf, type AccountSection, type Action } from './section.js'

export interface ApprovalsSectionOptions
  extends Pick<CommonOptions, 'clients' | 'log'>, Pick<RequestRules, 'detailsTypes'> {
  readonly pending: PendingApprovals
}

/**
 * Requests of applications (CIBA) that wait for the person's answer. They can be denied here; approval needs a
 * device's key. A denial only stops what someone else may have started, so it needs no recent sign-in and works
 * during a recovery.
 */
export const createApprovalsSection = ({ pending, clients, ...options }: ApprovalsSectionOptions): AccountSection => {
  const describe = createDescribeDetail(options)

  const onPage = async (
    { approvalId, expiresAt, request }: PendingApproval,
    signal: AbortSignal,
  ): Promise<ApprovalOnPage> => {
    const client = await clients.findEnabled(request.clientId)
    const { scope, resource, bindingMessage, authorizationDetails: details = [], askedAt: since } = request
    return {
      id: approvalId,
      client: client ? clientOnPage(client) : { name: request.clientId },
      scopes: scope,
      resources: resource,
      details: await Promise.all(details.slice(0, maxShownDetails).map((detail) => describe(detail, signal))),
      moreDetails: Math.max(0, details.length - maxShownDetails),
      ...(bindingMessage !== undefined && { message: bindingMessage }),
      since,
      expiresAt: Math.floor(expiresAt / 1000),
    }
  }

  const deny: Action = async (context) => {
    const { http } = context
    const id = http.form.values.get('approval') ?? ''
    const { sub, ...by } = auditContextOf(context)
    if (!isOpaqueToken(id) || !(await pending.deny(sub, id, { ...by, address: http.address })))
      return { notice: 'approval_gone' }
    return { notice: 'approval_denied' }
  }

  return {
    name: 'approvals',
    inRecovery: true,
    async show({ http, person }) {
      // A person has at most twenty.
      const waiting = await pending.list(person.session.subject)
      return {
        section: {
          view: 'approvals',
          approvals: await Promise.all(waiting.map((one) => onPage(one, http.signal))),
        },
      }
    },
    actions: new Map([['deny', deny]]),
  }
}
