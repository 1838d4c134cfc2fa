import type { Config } from '../../config/schema.js'
import { createCheckApproval } from '../attestation/approval-proof.js'
import { createEnrolmentKeys } from '../attestation/enrolment-keys.js'
import { createAttestationReader } from '../attestation/read-attestation.js'
import { createCheckRequestSignature } from '../attestation/request-signature.js'
import { createPrincipalStatus } from '../attestation/status.js'
import { approvalsEndpoint, createApprovalsEndpoint } from '../endpoints/ciba/approvals.js'
import {
  backchannelAuthenticationEndpoint,
  createBackchannelAuthenticationEndpoint,
} from '../endpoints/ciba/authentication.js'
import type { HandlersOf } from '../endpoints/endpoint.js'
import { createBackchannelLimits } from '../oauth/ciba/limits.js'
import { createNotifyDevices } from '../oauth/ciba/notifier.js'
import { createPendingApprovals, type PendingApprovals } from '../oauth/ciba/pending-approvals.js'
import { createWaitingApprovals } from '../oauth/ciba/waiting-approvals.js'
import { createRequestObjects } from '../oauth/requests/request-object.js'
import { basePathOf } from './admin-access.js'
import { createDeviceLimits } from './attestation-endpoints.js'
import { tokens, type Resolve } from './injection-tokens.js'
import type { SignIn } from './people-endpoints.js'

/** These are served where CIBA is enabled and devices are enrolled. */
export const cibaEndpoints = {
  backchannelAuthentication: backchannelAuthenticationEndpoint,
  approvals: approvalsEndpoint,
}

/** Returns the requests that wait for a person's decision, for decisions that are not made on a device. */
export const pendingApprovalsOf = (get: Resolve, { options }: Pick<SignIn, 'options'>): PendingApprovals => {
  const { backchannelRequests: requests, waitingApprovals } = get(tokens.collections)
  return createPendingApprovals({
    ...options,
    requests,
    waiting: createWaitingApprovals(waitingApprovals, get(tokens.clock)),
    pings: get(tokens.pingOutbox),
    findClient: (clientId) => options.clients.findEnabled(clientId),
  })
}

export const createCibaEndpoints = (
  get: Resolve,
  { options }: SignIn,
  section: NonNullable<Config['attestation']>,
): HandlersOf<typeof cibaEndpoints> => {
  const config = get(tokens.config)
  const { issuer, clock_tolerance_secs: toleranceSeconds, rate_limits: rates } = config
  const clock = get(tokens.clock)
  const stored = get(tokens.collections)
  const shared = {
    ...options,
    requests: stored.backchannelRequests,
    waiting: createWaitingApprovals(stored.waitingApprovals, clock),
    limits: createBackchannelLimits(stored.attemptCounters),
  }
  const { client_per_minute: perMinute } = rates.bc_authorize
  return {
    backchannelAuthentication: createBackchannelAuthenticationEndpoint({
      ...shared,
      authenticateClient: get(tokens.rateLimits).byClient('bc_authorize', perMinute, get(tokens.clientAuthentication)),
      requestObjects: createRequestObjects({
        kind: 'backchannel',
        issuer,
        clientKeys: get(tokens.clientKeys),
        clock,
        toleranceSeconds,
        required: false,
        // FAPI-CIBA §5.2.2 requires this.
        requiredForFapi: true,
        used: stored.clientAssertions,
      }),
      notifyDevices: createNotifyDevices({
        notifiers: get(tokens.registries).approvalNotifiers.values(),
        log: get(tokens.log),
      }),
      ttlSeconds: config.auth_req_id_ttl_secs,
    }),
    approvals: createApprovalsEndpoint({
      ...shared,
      checkSignature: createCheckRequestSignature({
        issuer,
        basePath: basePathOf(issuer),
        clock,
        toleranceSeconds,
        read: createAttestationReader({ ...get(tokens.verification), typ: section.typ }),
        keys: createEnrolmentKeys(),
        used: stored.usedRequestSignatures,
      }),
      pings: get(tokens.pingOutbox),
      pending: pendingApprovalsOf(get, { options }),
      checkApproval: createCheckApproval({ issuer, clock, toleranceSeconds }),
      keyLimits: createDeviceLimits(get),
      status: createPrincipalStatus(get(tokens.registries).statusProvider, get(tokens.statusLists)?.tokenStatus),
    }),
  }
}
