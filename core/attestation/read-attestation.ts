import type { Clock } from '../clock.js'
import { isObject, type JsonObject } from '../json.js'
import type { KeyRing } from '../keys/ports.js'
import { verifyOwnToken } from '../tokens/verify-own-token.js'
import { withoutStatus } from './attributes.js'
import { readEvidenceClaims, type EvidenceClaims } from './evidence-claims.js'
import type { Principal } from './ports.js'
import { isPrincipalType } from './read-body.js'

/** What an attestation says. */
export interface AttestationContent {
  readonly principal: Principal
  readonly jkt: string
  /** Without `status`. */
  readonly attributes: JsonObject
  /** When the full enrolment was: seconds since the epoch. Renewals carry it on in `jti`. */
  readonly enrolledAt: number
  /** Of the full enrolment. Renewals carry it on: the key is the same. */
  readonly evidence?: EvidenceClaims
}

/** What one of ours says, and how long it is good for. */
export interface ReadAttestation extends AttestationContent {
  /** Seconds since the epoch; the attestation may be over. */
  readonly expiresAt: number
}

export interface AttestationReaderOptions {
  readonly issuer: string
  readonly ring: Pick<KeyRing, 'publishedKey'>
  readonly clock: Clock
  readonly toleranceSeconds: number
  readonly typ: string
}

const jtiForm = /^([0-9a-z]{1,8})\.[\w-]{22}$/
const thumbprint = /^[\w-]{43}$/
/** What is in other tokens of ours and in no attestation. */
const foreign = ['aud', 'scope', 'client_id'] as const

/**
 * Reads attestations of ours, signed by any key that is published or retired. Undefined for everything else, however well it
 * is signed. Its end is for the caller to judge: the tolerance is for clocks that differ, and what is over proves nothing.
 */
export const createAttestationReader =
  (options: AttestationReaderOptions) =>
  async (token: string): Promise<ReadAttestation | undefined> => {
    const own = await verifyOwnToken(token, { ...options, purpose: 'attestation', expired: 'accepted' })
    if (own === undefined) return undefined
    const content = readContent(own.claims)
    return content && { ...content, expiresAt: Number(own.claims['exp']) }
  }

/** The shape of claims, beyond a good signature: another token under the same type is no attestation. */
const readContent = (claims: JsonObject): AttestationContent | undefined => {
  const { sub, did, principal_type: principalType, cnf, att, jti, iat } = claims
  if (foreign.some((name) => name in claims)) return undefined
  if (typeof sub !== 'string' || typeof did !== 'string' || !isPrincipalType(principalType)) return undefined
  if (!isObject(cnf) || !isObject(att) || att['status'] !== 'active') return undefined
  const { jkt } = cnf
  if (typeof jkt !== 'string' || !thumbprint.test(jkt)) return undefined
  const [, time] = (typeof jti === 'string' && jtiForm.exec(jti)) || []
  if (time === undefined || parseInt(time, 36) > Number(iat)) return undefined
  const evidence = readEvidenceClaims(claims)
  if (evidence === undefined) return undefined
  return {
    principal: { subject: sub, principalId: did, principalType },
    jkt,
    attributes: withoutStatus(att),
    enrolledAt: parseInt(time, 36),
    ...(Object.keys(evidence).length > 0 && { evidence }),
  }
}
