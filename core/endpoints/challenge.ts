import type { EvidenceChallenges } from '../attestation/evidence-challenges.js'
import { readJsonObject } from '../attestation/read-body.js'
import type { AuditLog } from '../observe/audit.js'
import { auditRefusals } from './attestation-trail.js'
import { json, type Endpoint } from './message.js'

export interface ChallengeOptions {
  readonly evidence: Pick<EvidenceChallenges, 'issue'>
  readonly audit: AuditLog
}

/** `POST /challenge`: a value that evidence has to contain, before anybody says whose evidence. The body may be empty. */
export const createChallenge = ({ evidence, audit }: ChallengeOptions): Endpoint =>
  auditRefusals(audit, async (http) => {
    if (http.body?.length !== 0) readJsonObject(http)
    return json(200, { attestation_challenge: await evidence.issue() })
  })
