import { hash } from 'node:crypto'
import { isOfType } from '../../libraries/wire/media-type.js'
import { requestSignatureType } from '../../libraries/wire/names.js'
import { readRequestClaims, targetProblem, timeProblem } from '../../libraries/wire/request-claims.js'
import { epochSeconds, type Clock } from '../clock.js'
import { parseCompactJws } from '../jose/compact-jws.js'
import type { ProofKey } from '../jose/proof-keys.js'
import { verifySignature } from '../jose/verify-signature.js'
import { isSameText } from '../oauth/same-text.js'
import { hashOpaqueToken } from '../opaque-token.js'
import type { EphemeralReplayGuard } from '../storage/ports.js'
import type { EnrolmentKeys } from './enrolment-keys.js'
import { attestationError } from './errors.js'
import type { AttestationContent, createAttestationReader } from './read-attestation.js'

export interface RequestSignatureOptions {
  readonly issuer: string
  /** The path before every path of the listener; empty or without a slash at its end. */
  readonly basePath: string
  readonly clock: Clock
  readonly toleranceSeconds: number
  readonly read: ReturnType<typeof createAttestationReader>
  readonly keys: EnrolmentKeys
  /** Ids of request signatures by key. Each is accepted once. */
  readonly used: EphemeralReplayGuard
}

/** The parts of a request that are signed, as the client sent them. */
export interface SignedRequest {
  readonly method: string
  readonly body?: Buffer | undefined
  header(name: string): string | undefined
}

/**
 * The sender of a request, from a valid attestation and the attested key. Revocation of the principal is checked
 * elsewhere.
 */
export interface SignedBy extends Pick<AttestationContent, 'principal' | 'jkt'> {
  readonly key: ProofKey
}

const sha256 = (bytes: string | Buffer): string => hash('sha256', bytes, 'hex')

const refuse = (reason: string): never => {
  throw attestationError('RequestSignatureInvalid', { reason })
}

/**
 * Checks `X-Attestation` and `X-Signature` of a request to this server at `path`, without a query. The signature is a
 * JWS of type `device-signature+jwt` by the attested key over method, path, audience (this issuer) and the hash of
 * the body. Each is accepted once. Throws `AttestationInvalid`, `BadJwk`, `KeyNotBound` and `RequestSignatureInvalid`
 * (the named errors), and `Unavailable`.
 */
export const createCheckRequestSignature = (options: RequestSignatureOptions) => {
  const { issuer, basePath, clock, toleranceSeconds, read, keys, used } = options

  return async (request: SignedRequest, path: string): Promise<SignedBy> => {
    const [attestation, signature] = [request.header('x-attestation'), request.header('x-signature')]
    if (attestation === undefined || signature === undefined) return refuse('no attestation or no signature')
    const jws = parseCompactJws(signature) ?? refuse('not a compact JWS')
    const { alg, typ, jwk } = jws.header
    if (alg !== 'ES256' || !isOfType(typ, requestSignatureType)) refuse('alg or typ is of another thing')
    const presented = await read(attestation)
    // The tolerance and the grace period are for renewals. An expired attestation proves nothing here.
    if (presented === undefined || presented.expiresAt <= epochSeconds(clock))
      throw attestationError('AttestationInvalid')
    const { principal, jkt } = presented
    const key = keys.check(jwk)
    if (!isSameText(key.thumbprint, jkt)) throw attestationError('KeyNotBound')
    const claims = readRequestClaims(jws.payload) ?? refuse('malformed')
    const { iat, exp, jti, bdh } = claims
    const { method, body } = request
    const problem =
      timeProblem(iat, exp, epochSeconds(clock), toleranceSeconds) ??
      targetProblem(claims, { method, pth: basePath + path }, issuer, sha256)
    if (problem !== undefined) refuse(problem)
    if (bdh !== (body === undefined || body.length === 0 ? undefined : sha256(body))) refuse('body_mismatch')
    if (!(await verifySignature(key, jws.signingInput, jws.signature))) refuse('wrong signature')
    // Remembered until no replica accepts it any more; its clock may be behind ours.
    const left = exp + 2 * toleranceSeconds - epochSeconds(clock)
    const earliest = (iat - toleranceSeconds) * 1000
    if (!(await used.claim(jkt, hashOpaqueToken(jti), Math.max(1, left), earliest))) refuse('it was already used')
    return { principal, jkt, key }
  }
}

export type CheckRequestSignature = ReturnType<typeof createCheckRequestSignature>
