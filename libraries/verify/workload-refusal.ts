import { workloadProofScheme } from '../wire/names.js'
import { refusalAnswer, VerificationError, type RefusalReason } from './refusal.js'

/**
 * In the order of the verifier's checks. A fault in the token is answered with 400, in the proof with 401 (§5.2 and
 * §2.1 of the drafts).
 */
const refusals = {
  missing_credential: [401, 'The request needs a workload identity token and a proof.'],
  duplicate_header: [400, 'A header that may be there once is there twice.'],
  header_too_large: [400, 'The token or the proof is too long.'],
  malformed: [400, 'The token or the proof cannot be read.'],
  wrong_type: [400, 'The token or the proof is a token of another kind.'],
  untrusted_issuer: [400, 'The trust domain is not trusted here.'],
  unknown_kid: [400, 'The trust domain has no such key.'],
  bad_alg: [400, 'The algorithm is not accepted.'],
  bad_token: [400, 'The trust domain did not sign this token.'],
  token_expired: [400, 'The token is not valid now.'],
  bad_jwk: [400, 'The key in the token cannot be used.'],
  bad_signature: [401, 'The signature of the proof is wrong.'],
  signature_expired: [401, 'The proof is not valid now.'],
  lifetime_too_long: [401, 'The proof is valid for too long.'],
  audience_mismatch: [401, 'The proof is for another target.'],
  token_mismatch: [401, 'The proof is for another token.'],
  replay_detected: [401, 'The proof was used before.'],
  keys_unavailable: [503, 'The keys of the trust domain cannot be fetched now.'],
  replay_guard_full: [503, 'Too many proofs are being remembered.'],
  replay_guard_unavailable: [503, 'Whether the proof is new cannot be determined now.'],
} as const satisfies Record<string, readonly [number, string]>

export type WorkloadRefusalReason = keyof typeof refusals

/** A refusal by the workload verifier. */
export class WorkloadRefused extends Error {
  readonly reason: WorkloadRefusalReason
  constructor(reason: WorkloadRefusalReason) {
    super(reason)
    this.reason = reason
  }
}

const isNamed = (reason: RefusalReason | WorkloadRefusalReason): reason is WorkloadRefusalReason => reason in refusals

/** Answers a refusal of a workload or of a check common to all verifiers. Other errors are returned unchanged. */
export const workloadAnswerOf = (error: unknown): unknown => {
  if (!(error instanceof WorkloadRefused || error instanceof VerificationError)) return error
  const reason = error.reason as RefusalReason | WorkloadRefusalReason
  if (!isNamed(reason)) return error
  const [status, description] = refusals[reason]
  const code = status === 503 ? 'temporarily_unavailable' : status === 401 ? 'invalid_proof' : 'invalid_request'
  const headers = status === 401 ? { 'www-authenticate': workloadProofScheme } : {}
  return new VerificationError(reason, refusalAnswer(status, code, description, reason, headers), {
    cause: error.cause,
  })
}
