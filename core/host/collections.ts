import type { Enrolment, Revocation } from '../attestation/principal-registry.js'
import type { ChallengeRecord } from '../attestation/challenges.js'
import type { Interaction } from '../interaction/interaction.js'
import type { Consent } from '../interaction/consent.js'
import type { Session, SessionEntry } from '../interaction/session.js'
import type { JsonObject } from '../json.js'
import type { Client } from '../oauth/client.js'
import type { DeviceApproval, DeviceRequest } from '../oauth/device-code.js'
import type { AuthorizationCode, Grant } from '../oauth/grant.js'
import type { GrantEntry } from '../oauth/grant-index.js'
import { createAttemptLimiter } from '../storage/attempts.js'
import { createOccupancy } from '../storage/occupancy.js'
import type { KeyPublication } from './key-publications.js'
import type { Stores } from './stores.js'

/**
 * Which collection lives where (decisions section 9): what, if lost, would let something be used twice is a record;
 * what, if lost, only makes someone sign in again is ephemeral.
 */
export const collections = ({ records, ephemeral }: Stores) => {
  const counters = ephemeral.counters('counters')
  return {
    clients: records.records<Client>('clients'),
    consents: records.records<Consent>('consents'),
    publications: records.records<KeyPublication>('key_publications'),
    sessionIndex: records.records<SessionEntry>('session_index'),
    grantIndex: records.records<GrantEntry>('grant_index'),
    codes: records.oneTime<AuthorizationCode>('codes'),
    deviceCodes: records.deviceCodes<DeviceRequest, DeviceApproval>('device_codes'),
    families: records.refreshFamilies<Grant>('refresh_families'),
    revocations: records.revocations('revocations'),
    secrets: records.records<string>('secrets'),
    factorRecords: records.records<JsonObject>('second_factors'),
    factorClaims: records.replayGuard('second_factor_claims'),
    principals: records.records<Enrolment>('principals'),
    revokedPrincipals: records.records<Revocation>('revoked_principals'),
    principalOwners: records.records<string>('principal_owners'),
    sessions: ephemeral.records<Session>('sessions'),
    interactions: ephemeral.oneTime<Interaction>('interactions'),
    challenges: ephemeral.oneTime<ChallengeRecord>('challenges'),
    evidence: ephemeral.replayGuard('evidence_challenges'),
    attempts: createAttemptLimiter(counters),
    occupancy: createOccupancy(counters),
    proofs: ephemeral.replayGuard('dpop_proofs'),
    clientAssertions: ephemeral.replayGuard('client_assertions'),
  }
}

export type Collections = ReturnType<typeof collections>
