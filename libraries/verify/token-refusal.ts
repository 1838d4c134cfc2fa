import { refusalAnswer, VerificationError, type RefusalReason } from './refusal.js'

/**
 * In the order of the verifier's checks. A request without a token gets no `error`, because nothing is wrong with it.
 */
const refusals = {
  missing_token: [401, undefined, 'The request needs an access token.'],
  duplicate_header: [400, 'invalid_request', 'A header that may be there once is there twice.'],
  header_too_large: [401, 'invalid_token', 'The access token is too long.'],
  malformed: [401, 'invalid_token', 'The access token cannot be read.'],
  bad_alg: [401, 'invalid_token', 'The algorithm of the access token is not accepted.'],
  untrusted_issuer: [401, 'invalid_token', 'The issuer of the access token is not trusted here.'],
  unknown_kid: [401, 'invalid_token', 'The issuer has no such key.'],
  bad_signature: [401, 'invalid_token', 'The issuer did not sign this access token.'],
  wrong_type: [401, 'invalid_token', 'The token is not an access token.'],
  audience_mismatch: [401, 'invalid_token', 'The access token is for another audience.'],
  token_expired: [401, 'invalid_token', 'The access token is not valid now.'],
  unknown_confirmation: [401, 'invalid_token', 'The access token is bound to something that is not understood here.'],
  wrong_scheme: [401, 'invalid_token', 'The scheme is not the one of this access token.'],
  missing_certificate: [401, 'invalid_token', 'The access token needs the certificate that it is bound to.'],
  certificate_mismatch: [401, 'invalid_token', 'The access token is bound to another certificate.'],
  missing_proof: [401, 'invalid_dpop_proof', 'The request needs a DPoP proof.'],
  malformed_proof: [401, 'invalid_dpop_proof', 'The DPoP proof cannot be read.'],
  bad_proof_key: [401, 'invalid_dpop_proof', 'The key or the algorithm of the DPoP proof is not accepted.'],
  key_not_bound: [401, 'invalid_token', 'The access token is bound to another key.'],
  bad_proof: [401, 'invalid_dpop_proof', 'The signature of the DPoP proof is wrong.'],
  method_mismatch: [401, 'invalid_dpop_proof', 'The DPoP proof is for another method.'],
  target_mismatch: [401, 'invalid_dpop_proof', 'The DPoP proof is for another URL.'],
  token_mismatch: [401, 'invalid_dpop_proof', 'The DPoP proof is for another access token.'],
  proof_expired: [401, 'invalid_dpop_proof', 'The DPoP proof is not of now.'],
  use_dpop_nonce: [401, 'use_dpop_nonce', 'The DPoP proof must contain the nonce of this response.'],
  insufficient_scope: [403, 'insufficient_scope', 'The access token is not for this.'],
  insufficient_user_authentication: [
    401,
    'insufficient_user_authentication',
    'The sign-in was not strong or not recent enough.',
  ],
  token_revoked: [401, 'invalid_token', 'The access token is no longer valid.'],
  replay_detected: [401, 'invalid_dpop_proof', 'The DPoP proof was used before.'],
  keys_unavailable: [503, undefined, 'The keys of the issuer cannot be fetched now.'],
  introspection_unavailable: [503, undefined, 'Whether the access token is valid cannot be determined now.'],
  replay_guard_full: [503, undefined, 'Too many requests are being remembered.'],
  replay_guard_unavailable: [503, undefined, 'Whether the DPoP proof is new cannot be determined now.'],
} as const satisfies Record<string, readonly [number, string | undefined, string]>

export type TokenRefusalReason = keyof typeof refusals

/** Refusals of other parts of the library that this table lacks concern requests of devices. */
const isNamed = (reason: RefusalReason | TokenRefusalReason): reason is TokenRefusalReason => reason in refusals

/** A refusal before the form of the challenge is known. */
export class TokenRefused extends Error {
  readonly reason: TokenRefusalReason
  constructor(reason: TokenRefusalReason, cause?: unknown) {
    super(reason, { cause })
    this.reason = reason
  }
}

/** What a challenge states in addition to the error (RFC 6750 §3, RFC 9449 §7.1, RFC 9470 §3). */
export interface Challenge {
  /** The scheme that the client used. */
  readonly scheme: 'Bearer' | 'DPoP' | undefined
  /** Algorithms of proofs, separated by spaces. */
  readonly algs: string
  readonly scope?: string | undefined
  readonly acrValues?: string | undefined
  readonly maxAge?: number | undefined
  /** For the client's next proof. */
  readonly nonce?: string | undefined
}

/** Answers a refusal of an access token or of a check common to all verifiers. Other errors are returned unchanged. */
export const answerOf = (error: unknown, challenge: Challenge): unknown => {
  if (!(error instanceof TokenRefused || error instanceof VerificationError)) return error
  const reason = error.reason as RefusalReason | TokenRefusalReason
  if (!isNamed(reason)) return error
  const [status, code, description] = refusals[reason]
  const headers = {
    ...(status !== 503 && { 'www-authenticate': challengesOf(reason, challenge) }),
    ...(challenge.nonce !== undefined && { 'dpop-nonce': challenge.nonce }),
  }
  const said = status === 503 ? 'temporarily_unavailable' : code
  return new VerificationError(reason, refusalAnswer(status, said, description, reason, headers), {
    cause: error.cause,
  })
}

/** Both schemes, with the error in the one that the client used (RFC 9449 §7.2). */
const challengesOf = (reason: TokenRefusalReason, challenge: Challenge): string => {
  const { scheme, algs, scope, acrValues, maxAge } = challenge
  const [, error, description] = refusals[reason]
  const stepUp = reason === 'insufficient_user_authentication'
  const parameters = Object.entries({
    error,
    error_description: error && description,
    scope: reason === 'insufficient_scope' ? scope : undefined,
    acr_values: stepUp ? acrValues : undefined,
    max_age: stepUp && maxAge !== undefined ? String(maxAge) : undefined,
  }).flatMap(([name, value]) => (value === undefined || value === '' ? [] : [`${name}="${value}"`]))
  const dpop = ['DPoP', [...(scheme === 'DPoP' ? parameters : []), `algs="${algs}"`].join(', ')].join(' ')
  const bearer = ['Bearer', ...(scheme === 'DPoP' || parameters.length === 0 ? [] : [parameters.join(', ')])].join(' ')
  return scheme === 'DPoP' ? `${dpop}, ${bearer}` : `${bearer}, ${dpop}`
}
