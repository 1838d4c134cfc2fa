import type { AttestationTokens } from '../../attestation/attestation-token.js'
import type { Challenges } from '../../attestation/challenges.js'
import type { EnrolmentKeys } from '../../attestation/enrolment-keys.js'
import { attestationError } from '../../attestation/errors.js'
import type { AttestationLimits } from '../../attestation/limits.js'
import { readJsonObject, readKey, readText } from '../../attestation/read-body.js'
import { isSameText } from '../../oauth/same-text.js'
import type { PrincipalStatus } from '../../attestation/status.js'
import { epochSeconds, type Clock } from '../../clock.js'
import type { AuditLog } from '../../observe/audit.js'
import { recordingRefusals, auditContextOf } from './audit-context.js'
import type { Declaration } from '../endpoint.js'
import { json, type Handler } from '../message.js'
import type { Refusals } from '../refusals.js'

export interface ReissueOptions {
  readonly tokens: Pick<AttestationTokens, 'check'>
  readonly keys: EnrolmentKeys
  readonly limits: AttestationLimits
  readonly status: PrincipalStatus
  readonly challenges: Challenges
  readonly maxContinuitySeconds: number
  readonly audit: AuditLog
  readonly refusals: Refusals
  readonly clock: Clock
}

/**
 * `POST /reissue`: exchanges an attestation and its key for a new challenge. Possession of the same key replaces the
 * second factor.
 */
export const reissueEndpoint = {
  path: '/reissue',
  methods: ['POST'],
  body: 'json',
  errorCodes: true,
  limit: { byAddress: 'attestation', byRefusals: true },
} as const satisfies Declaration

export const createReissueEndpoint = (options: ReissueOptions): Handler => {
  const { tokens, keys, limits, status, challenges, maxContinuitySeconds, audit, refusals, clock } = options

  return recordingRefusals(refusals, async (http, seen) => {
    seen.step = 'renewal'
    const body = readJsonObject(http)
    const attestation = readText(body, 'attestation')
    const jwk = readKey(body)

    // Nothing is stored or queried before the attestation is verified and belongs to the key.
    const content = await tokens.check(attestation)
    const { principal, jkt, enrolledAt } = content
    Object.assign(seen, { principal, jkt })
    const key = keys.check(jwk)
    if (!isSameText(key.thumbprint, jkt)) throw attestationError('KeyNotBound')
    const issuedAt = epochSeconds(clock)
    if (issuedAt >= enrolledAt + maxContinuitySeconds) throw attestationError('ReenrolmentRequired')

    await limits.takeKey(jkt, http.address)
    await status.check({ principal, jkt, step: 'renewal' }, http.signal)
    const challenge = await challenges.issue({ step: 'renewal', ...content, jwk: key.jwk, issuedAt })
    await audit.record({ event: 'attestation.challenged', ...auditContextOf(http, seen) })
    return json(200, { challenge, expires_in: challenges.ttlSeconds })
  })
}
