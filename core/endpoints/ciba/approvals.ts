import { isDeepStrictEqual } from 'node:util'
import type { CheckApproval } from '../../attestation/approval-proof.js'
import { attestationError } from '../../attestation/errors.js'
import type { AttestationLimits } from '../../attestation/limits.js'
import { readJsonObject, readText } from '../../attestation/read-body.js'
import type { CheckRequestSignature, SignedBy } from '../../attestation/request-signature.js'
import type { PrincipalStatus } from '../../attestation/status.js'
import { epochSeconds } from '../../clock.js'
import { acrOf } from '../../oauth/requests/authentication-context.js'
import { describeDecision, type PendingApprovals } from '../../oauth/ciba/pending-approvals.js'
import { reportDecision, type PingOutbox } from '../../oauth/ciba/ping.js'
import {
  approvalMethods,
  cibaGrant,
  shownRequest,
  type BackchannelApproval,
  type BackchannelRequest,
} from '../../oauth/ciba/request.js'
import type { Client } from '../../oauth/clients/client.js'
import { newGrantId } from '../../oauth/grants/grant-id.js'
import type { CommonOptions, GrantRecords, RequestRules } from '../authorization-flow/options.js'
import type { Declaration } from '../endpoint.js'
import { json, type EndpointRequest, type Reply } from '../message.js'
import type { RecordedHandler, AuditContext } from '../refusals.js'
import type { CibaOptions } from './options.js'

export interface ApprovalsOptions
  extends
    CibaOptions,
    Pick<CommonOptions, 'clients' | 'clock' | 'audit'>,
    Pick<GrantRecords, 'grantIndex'>,
    Pick<RequestRules, 'acrs' | 'defaultAudience'> {
  readonly checkSignature: CheckRequestSignature
  readonly checkApproval: CheckApproval
  readonly keyLimits: Pick<AttestationLimits, 'takeKey'>
  readonly status: Pick<PrincipalStatus, 'check'>
  readonly pings: PingOutbox
  readonly pending: Pick<PendingApprovals, 'list'>
}

/**
 * Requests that wait for a person's approval, for a device enrolled here: GET lists them, POST accepts a decision.
 * The attested key signs each HTTP request, and also each decision over a copy of what was shown (PSD2 RTS art. 5:
 * dynamic linking).
 */
export const approvalsEndpoint = {
  path: '/approvals',
  methods: ['GET', 'POST'],
  body: 'json',
  errorCodes: true,
  limit: { byAddress: 'approvals', byRefusals: true },
  refusedEvent: 'approval.refused',
} as const satisfies Declaration

export const createApprovalsEndpoint = (options: ApprovalsOptions): RecordedHandler => {
  const { requests, waiting, pending, limits, clients, grantIndex, acrs, defaultAudience, clock, audit, pings } =
    options

  /** The signer must be a device of the person that was not revoked. */
  const checkDevice = async (http: EndpointRequest, seen: AuditContext): Promise<SignedBy> => {
    if (http.query.values.size > 0)
      throw attestationError('InvalidRequest', { description: 'This endpoint takes no query.' })
    const device = await options.checkSignature(http, approvalsEndpoint.path)
    const { principal, jkt } = device
    seen.sub = principal.subject
    seen.auditFields = { did: principal.principalId, jkt }
    if (principal.principalType !== 'device') throw attestationError('DeviceRequired')
    await options.keyLimits.takeKey(jkt, http.address)
    await options.status.check({ principal, jkt, step: 'renewal' }, http.signal)
    return device
  }

  /** Undefined when its client may no longer have it. */
  const clientOf = async ({ clientId }: BackchannelRequest): Promise<Client | undefined> => {
    const client = await clients.findEnabled(clientId)
    return client?.grant_types.includes(cibaGrant) ? client : undefined
  }

  const list = async ({ principal }: SignedBy): Promise<Reply> => {
    const entries = await pending.list(principal.subject)
    const shown = await Promise.all(
      entries.map(async ({ approvalId, expiresAt, request }) => {
        const client = await clientOf(request)
        if (client === undefined) return []
        const expiresIn = Math.max(0, Math.floor((expiresAt - clock()) / 1000))
        return [{ approval_id: approvalId, expires_in: expiresIn, request: shownRequest(request, client) }]
      }),
    )
    return json(200, { approvals: shown.flat() })
  }

  /** The grant is made from the stored request, which is what was signed. */
  const approvalOf = (request: BackchannelRequest): BackchannelApproval => {
    const { clientId, subject, scope, resource, authorizationDetails, wantedAcr } = request
    const acr = acrOf(acrs, { amr: approvalMethods }, wantedAcr)
    return {
      grantId: newGrantId(clock),
      clientId,
      subject,
      scope,
      // Stored explicitly, so that `/token` can tell a client that asks for it from one that asks for more (RFC 8707
      // §2.2).
      resource: resource.length > 0 ? resource : [defaultAudience],
      authentication: { auth_time: epochSeconds(clock), amr: approvalMethods, ...(acr !== undefined && { acr }) },
      ...(authorizationDetails && { authorizationDetails }),
    }
  }

  const decide = async (http: EndpointRequest, { principal, jkt, key }: SignedBy): Promise<Reply> => {
    const signed = readText(readJsonObject(http), 'decision')
    const { approvalId, decision, request: shown } = await options.checkApproval(signed, key)
    const found = await requests.findByUserCode(approvalId)
    // Another person's request is reported as unknown, like one that does not exist.
    if (found?.request.subject !== principal.subject) throw attestationError('ApprovalUnknown')
    const { request, state } = found
    const client = await clientOf(found.request)
    if (client === undefined) throw attestationError('ApprovalUnknown', { reason: 'the client is gone or disabled' })
    if (!isDeepStrictEqual(shown, shownRequest(request, client))) throw attestationError('ApprovalMismatch')
    if (state !== 'pending') throw attestationError('ApprovalOver', { reason: `it is ${state}` })
    await reportDecision(pings, client, approvalId, request.ping)
    const approval = approvalOf(request)
    const isApproved = decision === 'approve'
    const [decided] = await Promise.all([
      requests.decide(approvalId, isApproved ? { approval } : 'denied'),
      isApproved && grantIndex.add(approval),
    ])
    if (decided.outcome !== 'won') {
      if (isApproved) await grantIndex.remove(approval)
      throw attestationError('ApprovalOver', { reason: 'another decision was faster, or its time is over' })
    }
    await audit.record({
      event: isApproved ? 'backchannel.approved' : 'backchannel.denied',
      request_id: http.requestId,
      ...describeDecision(request, approvalId, defaultAudience),
      did: principal.principalId,
      jkt,
      ...(isApproved && { grant_id: approval.grantId }),
      address: http.address,
    })
    await waiting.leave(principal.subject, approvalId)
    if (isApproved) await limits.clearPerson(request.clientId, principal.subject)
    return json(200, { approval_id: approvalId, state: isApproved ? 'approved' : 'denied' })
  }

  return async (http, seen) => {
    const device = await checkDevice(http, seen)
    return http.method === 'POST' ? decide(http, device) : list(device)
  }
}
