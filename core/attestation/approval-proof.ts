import { isOfType } from '../../libraries/wire/media-type.js'
import { approvalType } from '../../libraries/wire/names.js'
import { epochSeconds, type Clock } from '../clock.js'
import { isNumericDate } from '../jose/claim-times.js'
import { parseCompactJws } from '../jose/compact-jws.js'
import type { ProofKey } from '../jose/proof-keys.js'
import { verifySignature } from '../jose/verify-signature.js'
import { hasInheritedName, isObject, type JsonObject } from '../json.js'
import { isOpaqueToken } from '../opaque-token.js'
import { attestationError } from './errors.js'

export interface ApprovalProofOptions {
  readonly issuer: string
  readonly clock: Clock
  readonly toleranceSeconds: number
}

/** A person's decision and what it is about, signed by the attested key. */
export interface ApprovalProof {
  readonly approvalId: string
  readonly decision: 'approve' | 'deny'
  /** The request as the device showed it. */
  readonly request: JsonObject
}

/** In seconds. */
const longest = 300

const refuse = (reason: string): never => {
  throw attestationError('ApprovalInvalid', { reason })
}

/**
 * Verifies a decision: a compact JWS of type `approval+jwt`, ES256, by the attested key. Keys in its header are
 * ignored. Throws `ApprovalInvalid` (the named error).
 */
export const createCheckApproval =
  ({ issuer, clock, toleranceSeconds }: ApprovalProofOptions) =>
  async (text: string, key: ProofKey): Promise<ApprovalProof> => {
    const jws = parseCompactJws(text) ?? refuse('not a compact JWS')
    const { alg, typ } = jws.header
    if (alg !== 'ES256' || !isOfType(typ, approvalType)) refuse('alg or typ is of another thing')
    const { aud, iat, exp, approval_id: approvalId, decision, request } = jws.payload
    if (aud !== issuer) refuse('aud is not the issuer')
    if (!isNumericDate(iat) || !isNumericDate(exp)) return refuse('iat or exp is not a time')
    const now = epochSeconds(clock)
    if (exp <= iat || exp - iat > longest) refuse('exp is not within five minutes of iat')
    if (iat > now + toleranceSeconds || exp + toleranceSeconds <= now) refuse('expired or not valid yet')
    if (typeof approvalId !== 'string' || !isOpaqueToken(approvalId)) return refuse('approval_id is malformed')
    if (decision !== 'approve' && decision !== 'deny') return refuse('decision is neither approve nor deny')
    if (!isObject(request) || hasInheritedName(request)) return refuse('request is not an object')
    if (!(await verifySignature(key, jws.signingInput, jws.signature))) refuse('wrong signature')
    return { approvalId, decision, request }
  }

export type CheckApproval = ReturnType<typeof createCheckApproval>
