import { OAuthError, type ErrorCode } from '../oauth/errors.js'

type Row = readonly [status: number, code: ErrorCode, description: string]

/**
 * The named errors (docs/design/decisions.md#8-attestation). Descriptions are constant: an unknown subject looks like
 * a wrong factor.
 */
const rows = {
  InvalidRequest: [400, 'invalid_request', 'The request is malformed.'],
  BadJwk: [400, 'invalid_request', 'The key is not accepted.'],
  BadAlg: [400, 'invalid_request', 'The challenge must be signed with ES256.'],
  ApprovalPending: [400, 'authorization_pending', 'Somebody has to decide first. Repeat the same request.'],
  EvidenceRequired: [400, 'invalid_request', 'The request needs evidence that the key is in hardware.'],
  SecondFactorFailed: [401, 'invalid_grant', 'The second factor was not accepted.'],
  InvalidChallenge: [401, 'invalid_grant', 'The challenge is unknown, expired or was already used.'],
  ChallengeSignatureInvalid: [
    401,
    'invalid_grant',
    'The signature of the challenge is invalid. Ask for a new challenge.',
  ],
  EvidenceInvalid: [
    401,
    'invalid_grant',
    'The evidence was not accepted. It must be about this key and contain a new value of /challenge.',
  ],
  AttestationInvalid: [401, 'invalid_grant', 'The attestation is invalid or expired.'],
  KeyNotBound: [401, 'invalid_grant', 'The attestation belongs to another key.'],
  RequestSignatureInvalid: [
    401,
    'invalid_grant',
    'The signature of the request is missing, invalid, expired or was already used.',
  ],
  ApprovalInvalid: [400, 'invalid_request', 'The decision is not signed as it must be.'],
  ApprovalMismatch: [400, 'invalid_request', 'The decision was signed over something else than what waits.'],
  ApprovalUnknown: [404, 'invalid_request', 'No such request waits for this person.'],
  ApprovalOver: [409, 'invalid_grant', 'Somebody has decided already, or the time is over.'],
  DeviceRequired: [403, 'access_denied', 'Only the device of a person can decide.'],
  ReenrolmentRequired: [401, 'invalid_grant', 'The enrolment is too old to be renewed. Enrol again.'],
  PrincipalRevoked: [403, 'access_denied', 'The principal is revoked.'],
  AttributesDenied: [403, 'access_denied', 'An attribute is not allowed.'],
  RateLimited: [429, 'temporarily_unavailable', 'Too many requests.'],
} as const satisfies Readonly<Record<string, Row>>

export type AttestationErrorCode = keyof typeof rows

export interface AttestationErrorDetails {
  /** For the audit log only. */
  readonly reason?: string
  /** Replaces the description in the table, and is constant too. */
  readonly description?: string
  /** `Retry-After` in seconds. Up to five seconds are added, so that waiting clients do not return together (F36). */
  readonly retryAfterSeconds?: number
}

/** Creates a refusal by its name. An outage is `Unavailable`, and gets its name when it becomes an answer. */
export const attestationError = (
  errorCode: AttestationErrorCode,
  { reason, description, retryAfterSeconds }: AttestationErrorDetails = {},
): OAuthError => {
  const [status, code, constant] = rows[errorCode]
  return new OAuthError(code, description ?? constant, {
    status,
    errorCode,
    ...(reason !== undefined && { reason }),
    ...(retryAfterSeconds !== undefined && { headers: { 'Retry-After': spread(retryAfterSeconds) } }),
  })
}

const spread = (seconds: number): string => String(Math.max(1, Math.ceil(seconds)) + Math.floor(Math.random() * 6))
