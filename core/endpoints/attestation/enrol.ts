import type { AttestationTokens } from '../../attestation/attestation-token.js'
import type { Challenges } from '../../attestation/challenges.js'
import type { Evidence } from '../../attestation/evidence.js'
import type { EnrolmentKeys } from '../../attestation/enrolment-keys.js'
import { attestationError } from '../../attestation/errors.js'
import type { AttestationLimits } from '../../attestation/limits.js'
import {
  readAttributes,
  readEvidence,
  readJsonObject,
  readKey,
  readPrincipal,
  readSecondFactor,
} from '../../attestation/read-body.js'
import type { SecondFactors } from '../../attestation/second-factor.js'
import type { PrincipalStatus } from '../../attestation/status.js'
import { epochSeconds, type Clock } from '../../clock.js'
import type { JsonObject } from '../../json.js'
import type { AuditLog } from '../../observe/audit.js'
import { Unavailable } from '../../unavailable.js'
import { recordingRefusals, auditContextOf } from './audit-context.js'
import type { Declaration } from '../endpoint.js'
import { json, type Handler } from '../message.js'
import type { Refusals } from '../refusals.js'

export interface EnrolOptions {
  readonly limits: AttestationLimits
  readonly keys: EnrolmentKeys
  /** The attributes that a caller may ask for. Undefined means any but `status`. */
  readonly allowedAttributes: readonly string[] | undefined
  readonly factors: SecondFactors
  readonly evidence: Evidence
  readonly status: PrincipalStatus
  readonly tokens: Pick<AttestationTokens, 'prepare'>
  readonly challenges: Challenges
  readonly audit: AuditLog
  readonly refusals: Refusals
  readonly clock: Clock
}

/** `POST /enrol`: exchanges a key and a second factor for a challenge. Nothing is bound to the key yet. */
export const enrolmentEndpoint = {
  path: '/enrol',
  methods: ['POST'],
  body: 'json',
  errorCodes: true,
  limit: { byAddress: 'attestation', byRefusals: true },
} as const satisfies Declaration

export const createEnrolmentEndpoint = (options: EnrolOptions): Handler => {
  const { limits, keys, allowedAttributes, factors, evidence, status, tokens, challenges, audit, refusals, clock } =
    options

  /** Requested attributes are not granted ones, and only the core sets `status`. */
  const checkAttributes = (attributes: JsonObject): void => {
    const denied = Object.keys(attributes).some(
      (name) => name === 'status' || allowedAttributes?.includes(name) === false,
    )
    if (denied) throw attestationError('AttributesDenied')
  }

  /** A remaining count only delays the next enrolment; the used factor is worth more. */
  const forget = async (principal: Parameters<AttestationLimits['clearPrincipal']>[0]): Promise<void> => {
    await limits.clearPrincipal(principal).catch((error: unknown) => {
      if (!(error instanceof Unavailable)) throw error
    })
  }

  return recordingRefusals(refusals, async (http, seen) => {
    seen.step = 'enrolment'
    const body = readJsonObject(http)
    const principal = (seen.principal = readPrincipal(body))
    const jwk = readKey(body)
    const attributes = readAttributes(body)
    const proof = readSecondFactor(body)
    const sent = readEvidence(body)
    if (factors.has(proof.kind)) seen.factor = proof.kind
    if (sent !== undefined && evidence.has(sent.kind)) seen.evidence = sent.kind

    await limits.takePrincipal(principal)
    const key = keys.check(jwk)
    const jkt = (seen.jkt = key.thumbprint)
    checkAttributes(attributes)
    evidence.checkPresence(principal.principalType, sent)
    await limits.takeKey(jkt, http.address)

    const { address, requestId, signal } = http
    const factor = await factors.check({ principal, jkt, attributes, address, requestId, signal }, proof)
    // Comes after the factor, because verifying chains costs more than an unknown caller may cause.
    const proven = await evidence.check({ principal, jwk: key.jwk, jkt, signal }, sent)
    const enrolledAt = epochSeconds(clock)
    const granted = {
      ...{ principal, jkt, attributes: factor.attributes, enrolledAt },
      ...(proven && Object.keys(proven.claims).length > 0 && { evidence: proven.claims }),
    }
    tokens.prepare(granted, { grantedBy: factor.grantedBy })
    // Only callers that have proved something may learn who is revoked.
    await status.check({ principal, jkt, step: 'enrolment' }, signal)

    // The factor is used up last, so that an outage leaves it unused. A challenge that was not delivered expires.
    const challenge = await challenges.issue({ step: 'enrolment', ...granted, jwk: key.jwk, issuedAt: enrolledAt })
    await audit.record({
      event: 'attestation.challenged',
      ...auditContextOf(http, seen),
      amr: factor.amr,
      evidence_details: proven?.details,
    })
    await (proven === undefined ? factor.consume() : proven.redeemFor(() => factor.consume()))
    await forget(principal)
    return json(200, { challenge, expires_in: challenges.ttlSeconds })
  })
}
