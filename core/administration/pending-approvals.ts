import { collections } from '../collections/collections.js'
import { createOutbox } from '../oauth/back-channel/outbox.js'
import { createPendingApprovals, type PendingApprovals } from '../oauth/ciba/pending-approvals.js'
import { createWaitingApprovals } from '../oauth/ciba/waiting-approvals.js'
import type { Administration } from './administration.js'
import { findClient } from './clients.js'

/**
 * The requests of clients (CIBA) that wait for people. Pings are left in the outbox, and the next process that serves
 * delivers them.
 */
export const pendingApprovalsIn = ({ config, stores, clock, audit }: Administration): PendingApprovals => {
  const stored = collections(stores)
  return createPendingApprovals({
    requests: stored.backchannelRequests,
    waiting: createWaitingApprovals(stored.waitingApprovals, clock),
    pings: createOutbox({ kind: 'ping', records: stored.pingDeliveries, claims: stored.logoutClaims, clock }),
    audit,
    defaultAudience: config.default_audience,
    findClient: (clientId) => findClient({ config, stores }, clientId),
  })
}
