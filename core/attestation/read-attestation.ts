import type { Clock } from '../clock.js'
import { isObject, type JsonObject } from '../json.js'
import type { KeyRing } from '../keys/ports.js'
import { verifyOwnToken } from '../tokens/verify-own-token.js'
import { withoutStatus } from './attributes.js'
import { readEvidenceClaims, type EvidenceClaims } from './evidence-claims.js'
import type { Principal } from './ports.js'
import { isPrincipalType } from './read-body.js'

/** The contents of an attestation. */
export interface AttestationContent {
  readonly principal: Principal
  readonly jkt: string
  /** Without `status`. */
  readonly attributes: JsonObject
  /** When the full enrolment took place, in seconds since the epoch. Renewals keep it in `jti`. */
  readonly enrolledAt: number
  /** Evidence of the full enrolment. Renewals keep it, because the key is the same. */
  readonly evidence?: EvidenceClaims
}

/** The contents of one of our attestations, and when it expires. */
export interface ReadAttestation extends AttestationContent {
  /** Seconds since the epoch. The attestation may have expired. */
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
/** Claims of our other tokens that no attestation has. */
const foreign = ['aud', 'scope', 'client_id'] as const

/**
 * Reads our attestations, signed by any published or retired key. Returns undefined for everything else, however well
 * it is signed. The caller checks expiry: the tolerance is for differing clocks, and an expired attestation proves
 * nothing.
 */
export const createAttestationReader =
  (options: AttestationReaderOptions) =>
  async (token: string): Promise<ReadAttestation | undefined> => {
    const own = await verifyOwnToken(token, { ...options, purpose: 'attestation', expired: 'accepted' })
    if (own === undefined) return undefined
    const content = readContent(own.claims)
    return content && { ...content, expiresAt: Number(own.claims['exp']) }
  }

/** Checks the shape of the claims, because a validly signed token of another kind must not pass as an attestation. */
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
