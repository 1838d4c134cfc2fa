import { hash } from 'node:crypto'
import { isOfType } from '../../libraries/wire/media-type.js'
import { requestSignatureType } from '../../libraries/wire/names.js'
import { readRequestClaims, timeProblem } from '../../libraries/wire/request-claims.js'
import { parseStrictJsonObject } from '../../libraries/wire/strict-json.js'
import type { PrincipalRegistry } from '../attestation/principal-registry.js'
import type { EnrolmentKeys } from '../attestation/enrolment-keys.js'
import type { Principal } from '../attestation/ports.js'
import type { createAttestationReader } from '../attestation/read-attestation.js'
import type { CheckRequestSignature, SignedRequest } from '../attestation/request-signature.js'
import { parseCompactJws, type CompactJws } from '../jose/compact-jws.js'
import { verifySignature } from '../jose/verify-signature.js'
import type { JsonObject } from '../json.js'
import { OAuthError } from '../oauth/errors.js'
import { digestOf, type ActionDocument } from './action.js'

/** The request by which an attested device approved an action, as it was sent. */
export interface DeviceSignature extends JsonObject {
  readonly attestation: string
  /** A compact JWS of type `device-signature+jwt`. */
  readonly signature: string
  /** The JSON body of the request, which has the digest of the document. */
  readonly body: string
}

/** The evidence in a request of the attested device that signed it. */
export interface DeviceOfRequest {
  readonly principal: Principal
  readonly jkt: string
}

export interface DeviceApprovals {
  /**
   * The enrolled device that signed a request at `path`. Undefined for any other signature, for one that was used
   * before, and for a device that was revoked. Throws `Unavailable`.
   */
  admit(request: SignedRequest, path: string): Promise<DeviceOfRequest | undefined>
  /**
   * The device that approved a document by a request, whenever that was, if it is still enrolled with that key. Throws
   * `Unavailable`.
   */
  verify(signed: DeviceSignature, document: string): Promise<DeviceOfRequest | undefined>
}

export interface DeviceApprovalOptions {
  readonly check: CheckRequestSignature
  readonly read: ReturnType<typeof createAttestationReader>
  readonly keys: EnrolmentKeys
  readonly registry: Pick<PrincipalRegistry, 'find' | 'findOwner'>
  readonly toleranceSeconds: number
}

/**
 * Reads the signed request that approves a document. Undefined if it approves another document, or something else. The
 * signature itself is not verified.
 */
export const readDeviceSignature = (
  { signature, body }: Pick<DeviceSignature, 'signature' | 'body'>,
  document: string,
): (CompactJws & { readonly signedAt: number }) | undefined => {
  const jws = parseCompactJws(signature)
  const claims = jws && readRequestClaims(jws.payload)
  if (jws === undefined || claims === undefined) return undefined
  const { alg, typ } = jws.header
  const { id, deployment } = JSON.parse(document) as ActionDocument
  const isApproval =
    alg === 'ES256' &&
    isOfType(typ, requestSignatureType) &&
    claims.mth === 'POST' &&
    claims.pth.endsWith(`/api/v1/approvals/${id}/approve`) &&
    claims.aud === deployment &&
    claims.qsh === undefined &&
    timeProblem(claims.iat, claims.exp, claims.iat, 0) === undefined &&
    claims.bdh === hash('sha256', body, 'hex') &&
    parseStrictJsonObject(Buffer.from(body))?.['digest'] === digestOf(document)
  return isApproval ? { ...jws, signedAt: claims.iat } : undefined
}

/** Verifies approvals by attested devices that the registry of this deployment has enrolled. */
export const createDeviceApprovals = (options: DeviceApprovalOptions): DeviceApprovals => {
  const { check, read, keys, registry, toleranceSeconds } = options

  const isEnrolled = async ({ principal, jkt }: DeviceOfRequest): Promise<boolean> => {
    if (principal.principalType !== 'device') return false
    // A credential names the id alone, so the id must belong to one subject.
    const [{ enrolment, revokedAt }, owner] = await Promise.all([
      registry.find(principal),
      registry.findOwner(principal.principalId),
    ])
    return enrolment?.jkt === jkt && revokedAt === undefined && owner === principal.subject
  }

  /** Refusals of the checks are errors of the public endpoints. An outage is none of them. */
  const orUndefined = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof OAuthError) return undefined
      throw error
    }
  }

  return {
    admit: (request, path) =>
      orUndefined(async () => {
        const { principal, jkt } = await check(request, path)
        return (await isEnrolled({ principal, jkt })) ? { principal, jkt } : undefined
      }),
    verify: (signed, document) =>
      orUndefined(async () => {
        const jws = readDeviceSignature(signed, document)
        const attested = jws && (await read(signed.attestation))
        if (jws === undefined || attested === undefined || jws.signedAt > attested.expiresAt + toleranceSeconds)
          return undefined
        const { principal, jkt } = attested
        const key = keys.check(jws.header['jwk'])
        if (key.thumbprint !== jkt || !(await isEnrolled({ principal, jkt }))) return undefined
        return (await verifySignature(key, jws.signingInput, jws.signature)) ? { principal, jkt } : undefined
      }),
  }
}
