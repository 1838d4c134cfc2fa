import type { Enrolment, PrincipalEntry, Revocation } from '../attestation/principal-registry.js'
import type { ChallengeRecord } from '../attestation/challenges.js'
import type { ListInUse } from '../attestation/status-list/indexes.js'
import type { StatusEntry } from '../attestation/status-list/token-status.js'
import type { ExternalAccount } from '../interaction/external-accounts.js'
import type { HandoffRecord } from '../interaction/handoffs.js'
import type { Interaction } from '../interaction/interaction.js'
import type { AttemptRecord } from '../interaction/sign-in-attempts.js'
import type { Consent } from '../interaction/consent.js'
import type { PersonFactor } from '../interaction/factors/person-factor.js'
import type { RecoveryLink } from '../interaction/recovery/recovery-links.js'
import type { RecoverySession } from '../interaction/recovery/recovery-sessions.js'
import type { Session, SessionEntry } from '../interaction/session.js'
import type { JsonObject } from '../json.js'
import type { Client } from '../oauth/clients/client.js'
import type { ClientUse } from '../oauth/clients/client-uses.js'
import type { InitialAccessToken } from '../oauth/registration/initial-access-token.js'
import type { Delivery, LogoutDelivery } from '../oauth/back-channel/outbox.js'
import type { SessionClient } from '../oauth/back-channel/session-clients.js'
import type { PingNotice } from '../oauth/ciba/ping.js'
import type { BackchannelApproval, BackchannelRequest } from '../oauth/ciba/request.js'
import type { ApprovalRecord } from '../operators/approval.js'
import type { OperatorLink } from '../operators/links.js'
import type { OperatorRecord } from '../operators/operator-record.js'
import type { OperatorSession } from '../operators/sessions.js'
import type { OperatorSignIn } from '../operators/sign-ins.js'
import type { OperatorToken } from '../operators/operator-tokens.js'
import type { RepeatableRecord } from '../operators/repeatable-record.js'
import type { PersonsApprovals } from '../oauth/ciba/waiting-approvals.js'
import type { DeviceApproval, DeviceRequest } from '../oauth/grants/device-code.js'
import type { AuthorizationCode, Grant } from '../oauth/grants/grant.js'
import type { GrantEntry } from '../oauth/grants/grant-index.js'
import type { PushedRequest } from '../oauth/requests/pushed-request.js'
import { createAttemptLimiter } from '../storage/attempts.js'
import { createConcurrencyLimits } from '../storage/concurrency-limits.js'
import type { RecordLookup } from '../storage/ports.js'
import {
  shareCounters,
  shareDeviceCodes,
  countedLookup,
  shareOneTime,
  countedRecords,
  shareReplays,
} from '../storage/counted-collections.js'
import type { Quota } from '../storage/quotas.js'
import type { SearchEntry } from '../storage/search-index.js'
import type { KeyPublication } from '../keys/lifecycle/publications.js'
import type { KeyLogRecord } from '../keys/log/head.js'
import type { ReplicaReport, SlotRecord } from '../keys/slots/slot.js'
import type { QuotaName } from './quotas.js'
import type { FiguresReport } from './shared-figures.js'
import type { Stores } from './stores.js'

/** A one-time change of records that `signet migrate` has made. */
export interface Migration {
  readonly done: true
}

const shareSessions = (share: Quota, sessions: RecordLookup<Session>) =>
  countedLookup(share, sessions, ({ expiresAt }) => expiresAt && expiresAt * 1000)

/**
 * Assigns each collection to a storage role (docs/design/decisions.md#9-storage-roles). Data whose loss would let
 * something be used twice is a record; data whose loss only makes someone sign in again is ephemeral.
 */
export const collections = ({ records, ephemeral, shares }: Stores) => {
  /** Returns the collection, whose entries count in the quota of its class. */
  const within = <C>(name: QuotaName, share: (share: Quota, collection: C) => C, collection: C): C =>
    shares === undefined ? collection : share(shares[name], collection)
  const clients = records.records<Client>('clients')
  const counters = within('counters', shareCounters, ephemeral.counters('counters'))
  return {
    clients,
    /** Returns the same collection for clients that may be registered by anyone. */
    openClients: within('registrations', countedRecords, clients),
    initialAccessTokens: records.records<InitialAccessToken>('initial_access_tokens'),
    clientUses: records.records<ClientUse>('client_uses'),
    searchIndex: records.records<SearchEntry>('search_index'),
    consents: records.records<Consent>('consents'),
    operators: records.records<OperatorRecord>('operators'),
    approvals: records.records<ApprovalRecord>('approvals'),
    operatorLinks: records.oneTime<OperatorLink>('operator_links'),
    operatorSignIns: records.oneTime<OperatorSignIn>('operator_sign_ins'),
    // A session that was ended must not come back after a fail-over, and there are few.
    operatorSessions: records.records<OperatorSession>('operator_sessions'),
    operatorTokens: records.records<OperatorToken>('operator_tokens'),
    repeatableRequests: records.records<RepeatableRecord>('repeatable_requests'),
    personFactors: records.records<PersonFactor & { readonly subject: string }>('person_factors'),
    // These are few, and an operator made each of them: no one else can create one.
    recoveryLinks: records.records<RecoveryLink>('recovery_links'),
    recoverySessions: records.records<RecoverySession>('recovery_sessions'),
    publications: records.records<KeyPublication>('key_publications'),
    keyLog: records.records<KeyLogRecord>('key_log'),
    figures: records.records<FiguresReport>('figures'),
    keySlots: records.records<SlotRecord>('key_slots'),
    replicas: records.records<ReplicaReport>('replicas'),
    sessionIndex: records.records<SessionEntry>('session_index'),
    grantIndex: records.records<GrantEntry>('grant_index'),
    sessionClients: records.records<SessionClient>('session_clients'),
    codes: records.oneTime<AuthorizationCode>('codes'),
    deviceCodes: within(
      'device_codes',
      shareDeviceCodes,
      records.deviceCodes<DeviceRequest, DeviceApproval>('device_codes'),
    ),
    backchannelRequests: within(
      'pushed_requests',
      shareDeviceCodes,
      records.deviceCodes<BackchannelRequest, BackchannelApproval>('backchannel_requests'),
    ),
    waitingApprovals: within('pushed_requests', countedRecords, records.records<PersonsApprovals>('waiting_approvals')),
    pushedRequests: within('pushed_requests', shareOneTime, records.oneTime<PushedRequest>('pushed_requests')),
    families: records.refreshFamilies<Grant>('refresh_families'),
    revocations: records.revocations('revocations'),
    secrets: records.records<string>('secrets'),
    logoutDeliveries: records.records<LogoutDelivery>('logout_deliveries'),
    pingDeliveries: records.records<Delivery<PingNotice>>('ping_deliveries'),
    logoutClaims: records.replayGuard('logout_claims'),
    factorRecords: within('approvals', countedRecords, records.records<JsonObject>('second_factors')),
    externalAccounts: records.records<ExternalAccount>('external_accounts'),
    factorClaims: records.replayGuard('second_factor_claims'),
    principals: records.records<Enrolment>('principals'),
    principalIndex: records.records<PrincipalEntry>('principal_index'),
    migrations: records.records<Migration>('migrations'),
    revokedPrincipals: records.records<Revocation>('revoked_principals'),
    principalOwners: records.records<string>('principal_owners'),
    statusLists: records.records<ListInUse>('status_lists'),
    statusListBits: records.records<string>('status_list_bits'),
    statusListEntries: records.records<StatusEntry>('status_list_entries'),
    sessions: within('sessions', shareSessions, ephemeral.records<Session>('sessions')),
    interactions: within('requests', shareOneTime, ephemeral.oneTime<Interaction>('interactions')),
    signInAttempts: within('requests', shareOneTime, ephemeral.oneTime<AttemptRecord>('sign_in_attempts')),
    handoffs: within('requests', countedLookup, ephemeral.records<HandoffRecord>('handoffs')),
    upstreamLogouts: within('replay', countedLookup, ephemeral.records<true>('upstream_logouts')),
    challenges: within('challenges', shareOneTime, ephemeral.oneTime<ChallengeRecord>('challenges')),
    usedEvidenceChallenges: within('replay', shareReplays, ephemeral.replayGuard('evidence_challenges')),
    returnedEvidence: within('challenges', countedLookup, ephemeral.records<JsonObject>('returned_evidence')),
    attemptCounters: createAttemptLimiter(counters),
    concurrencyLimits: createConcurrencyLimits(counters),
    usedDpopProofs: within('replay', shareReplays, ephemeral.replayGuard('dpop_proofs')),
    usedRequestSignatures: within('replay', shareReplays, ephemeral.replayGuard('request_signatures')),
    clientAssertions: within('replay', shareReplays, ephemeral.replayGuard('client_assertions')),
  }
}

export type Collections = ReturnType<typeof collections>
