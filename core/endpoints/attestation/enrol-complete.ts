import type { AttestationTokens, PreparedAttestation } from '../../attestation/attestation-token.js'
import type { createCheckProof } from '../../attestation/challenge-proof.js'
import type { ClientAttestations } from '../../attestation/client-attestation.js'
import type { ChallengeRecord, Challenges, OpenChallenge } from '../../attestation/challenges.js'
import type { AttestationLimits } from '../../attestation/limits.js'
import type { StatusQuestion } from '../../attestation/ports.js'
import { readJsonObject, readText } from '../../attestation/read-body.js'
import type { StatusIndex } from '../../attestation/status-list/indexes.js'
import type { TokenStatus } from '../../attestation/status-list/token-status.js'
import { statusComponent, type PrincipalStatus } from '../../attestation/status.js'
import type { WorkloadIdentities } from '../../attestation/workload-identity.js'
import { OAuthError } from '../../oauth/errors.js'
import type { AuditLog } from '../../observe/audit.js'
import { recordingRefusals, auditContextOf } from './audit-context.js'
import type { Declaration } from '../endpoint.js'
import { json, type Handler } from '../message.js'
import type { Refusals } from '../refusals.js'

export interface EnrolCompleteOptions {
  readonly challenges: Challenges
  readonly checkProof: ReturnType<typeof createCheckProof>
  readonly limits: Pick<AttestationLimits, 'takeCompletion'>
  readonly status: PrincipalStatus
  /** Present with status lists. */
  readonly tokenStatus: Pick<TokenStatus, 'assign'> | undefined
  readonly tokens: Pick<AttestationTokens, 'prepare' | 'sign'>
  /** Present if some principals are instances of clients. */
  readonly clientAttestations: ClientAttestations | undefined
  /** Present if services are workloads. */
  readonly workloadIdentities: WorkloadIdentities | undefined
  readonly ttlSeconds: number
  readonly reissueAfterSeconds: number
  readonly audit: AuditLog
  readonly refusals: Refusals
}

const questionOf = ({ principal, jkt, step }: ChallengeRecord): StatusQuestion => ({ principal, jkt, step })

/**
 * `POST /enrol/complete`: exchanges possession of the key for an attestation. It signs first, then consumes the
 * challenge, then answers.
 */
export const enrolmentCompletionEndpoint = {
  path: '/enrol/complete',
  methods: ['POST'],
  body: 'json',
  errorCodes: true,
  // Counted separately, so that an address can complete what it could begin, although each ceremony makes several
  // requests.
  limit: { byAddress: 'attestation', countedAs: 'attestation_completion', byRefusals: true },
} as const satisfies Declaration

export const createEnrolmentCompletionEndpoint = (options: EnrolCompleteOptions): Handler => {
  const { challenges, checkProof, limits, status, tokenStatus, tokens, audit, refusals } = options
  const { clientAttestations, workloadIdentities } = options

  /** A wrong signature has one attempt: the challenge is consumed before the caller learns of it. */
  const proveOrBurn = async (text: string, open: OpenChallenge): Promise<void> => {
    try {
      await checkProof(text, open)
    } catch (error) {
      if (error instanceof OAuthError) await challenges.redeem(open)
      throw error
    }
  }

  /** A renewal has the current attributes, an enrolment the granted ones. */
  const prepare = async (
    { record }: OpenChallenge,
    listed: StatusIndex | undefined,
    signal: AbortSignal,
  ): Promise<PreparedAttestation> => {
    const current = await status.check(questionOf(record), signal)
    if (record.step === 'enrolment' || current === undefined) return tokens.prepare(record, { status: listed })
    return tokens.prepare({ ...record, attributes: current }, { grantedBy: statusComponent, status: listed })
  }

  return recordingRefusals(refusals, async (http, seen) => {
    const body = readJsonObject(http)
    const challenge = readText(body, 'challenge')
    const signature = readText(body, 'challenge_signature')
    const open = await challenges.get(challenge)
    const { step, principal, jkt } = open.record
    Object.assign(seen, { step, principal, jkt, isProved: true })

    await proveOrBurn(signature, open)
    await limits.takeCompletion(open.record.jkt)
    const listed = await tokenStatus?.assign(principal, jkt)
    const prepared = await prepare(open, listed, http.signal)
    const signed = await tokens.sign(prepared, open.record.step, http.signal)
    const forClient = clientAttestations?.prepare(open.record, prepared.expiresAt)
    const forWorkload = workloadIdentities?.prepare(open.record, prepared.expiresAt)
    const { jti } = prepared
    const auditContext = {
      ...auditContextOf(http, seen),
      jti,
      client_id: forClient?.clientId,
      workload: forWorkload?.workload,
    }
    const signatures = [signed.record]
    const signBeside = async () => {
      const client = forClient && (await clientAttestations?.sign(forClient, step, http.signal))
      if (client !== undefined) signatures.push(client.record)
      const workload = forWorkload && (await workloadIdentities?.sign(forWorkload, step, http.signal))
      if (workload !== undefined) signatures.push(workload.record)
      return { client_attestation: client?.token, workload_identity_token: workload?.token }
    }
    // Every signature is recorded, whatever happens to the next.
    const beside = await signBeside().catch(async (error: unknown) => {
      await audit.record({ event: 'attestation.signed', ...auditContext, signatures })
      throw error
    })
    // A signature is recorded before the challenge is consumed, so that one that cannot be recorded consumes nothing
    // (F34).
    await audit.record({ event: 'attestation.signed', ...auditContext, signatures })
    // Learning of this key makes a registry end the renewals of the earlier one, so that waits until an attestation
    // for this one exists.
    if (open.record.step === 'enrolment')
      await status.enrolled(questionOf(open.record), open.record.attributes, http.signal)
    await Promise.all([
      challenges.redeem(open),
      open.record.step === 'renewal' && status.renewed(questionOf(open.record), http.signal),
    ])
    await audit.record({ event: 'attestation.issued', ...auditContext, exp: prepared.expiresAt })
    return json(200, {
      attestation: signed.token,
      ...beside,
      expires_in: options.ttlSeconds,
      reissue_after: options.reissueAfterSeconds,
    })
  })
}
