/** The HTTP answer to a refused request. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
}

/**
 * Why a request is refused. `reason` is a constant word for logs, metrics and `error_code`; `answer` is for the
 * client.
 */
export class VerificationError extends Error {
  override readonly name = 'VerificationError'
  readonly reason: string
  readonly answer: HttpAnswer

  constructor(reason: string, answer: HttpAnswer, options?: { readonly cause?: unknown }) {
    super(`The request was refused: ${reason}`, options)
    this.reason = reason
    this.answer = answer
  }
}

/** In the order of the verifier's checks. */
const refusals = {
  missing_credential: [401, 'The request needs an attestation and a signature.'],
  duplicate_header: [401, 'A header that may be there once is there twice.'],
  header_too_large: [401, 'The attestation or the signature is too long.'],
  malformed: [401, 'The attestation or the signature cannot be read.'],
  bad_alg: [401, 'The algorithm is not accepted.'],
  untrusted_issuer: [401, 'The issuer of the attestation is not trusted here.'],
  unknown_kid: [401, 'The issuer has no such key.'],
  bad_attestation: [401, 'The issuer did not sign this attestation.'],
  wrong_type: [401, 'The attestation or the signature is a token of another kind.'],
  attestation_expired: [401, 'The attestation is not valid now.'],
  device_not_active: [401, 'The device or service is not active.'],
  bad_jwk: [401, 'The key of the signature is not a public P-256 key.'],
  key_not_bound: [401, 'The attestation is for another key.'],
  bad_signature: [401, 'The signature is wrong.'],
  signature_expired: [401, 'The signature is not valid now.'],
  lifetime_too_long: [401, 'The signature is valid for too long.'],
  method_mismatch: [401, 'The signature is for another method.'],
  path_mismatch: [401, 'The signature is for another path.'],
  audience_mismatch: [401, 'The signature is for another audience.'],
  query_mismatch: [401, 'The signature is for another query.'],
  body_mismatch: [401, 'The signature is for another body.'],
  body_too_large: [413, 'The body is too large.'],
  body_incomplete: [400, 'The body ended early.'],
  replay_detected: [401, 'The signature was used before.'],
  keys_unavailable: [503, 'The keys of the issuer cannot be fetched now.'],
  status_unavailable: [503, 'The status of the device cannot be fetched now.'],
  replay_guard_full: [503, 'Too many requests are being remembered.'],
  replay_guard_unavailable: [503, 'Whether the signature is new cannot be determined now.'],
} as const satisfies Record<string, readonly [number, string]>

export type RefusalReason = keyof typeof refusals

/** Seconds until a client may try again after an outage. */
const retryAfter = '5'

/** `error` is undefined when the request only lacks credentials. */
export const refusalAnswer = (
  status: number,
  error: string | undefined,
  description: string,
  reason: string,
  headers: HttpAnswer['headers'],
): HttpAnswer => ({
  status,
  headers: {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...headers,
    ...(status === 503 && { 'retry-after': retryAfter }),
  },
  body: JSON.stringify({ error, error_description: description, error_code: reason }),
})

export const refused = (reason: RefusalReason, cause?: unknown): VerificationError => {
  const [status, description] = refusals[reason]
  const error = status === 503 ? 'temporarily_unavailable' : status === 401 ? 'invalid_signature' : 'invalid_request'
  const headers = {
    ...(status === 401 && { 'www-authenticate': `DeviceSignature error="${error}", error_code="${reason}"` }),
  }
  return new VerificationError(reason, refusalAnswer(status, error, description, reason, headers), { cause })
}

/** Any error of code that others provide is an outage, never a refusal. */
export const outage = async <T>(
  reason: 'status_unavailable' | 'replay_guard_unavailable',
  ask: () => T | Promise<T>,
): Promise<T> => {
  try {
    return await ask()
  } catch (error) {
    throw error instanceof VerificationError ? error : refused(reason, error)
  }
}
