import { createPublicKey, hash, type KeyObject } from 'node:crypto'
import { isOfType } from '../wire/media-type.js'
import { isTime } from '../wire/request-claims.js'
import { isObject, type JsonObject } from './jws.js'
import type { KeySets } from './key-sets.js'
import { refused } from './refusal.js'
import { createSignedTokenReader, type SignedToken } from './signed-token.js'
import type { StatusChecker, StatusListReference } from './status-list.js'

/** The principal that an attestation is about. */
export interface Principal {
  readonly issuer: string
  /** `sub`: the owner. */
  readonly subject: string
  /** `did`. */
  readonly principalId: string
  /** `device` or `service`. */
  readonly principalType: string
}

export interface Attestation {
  readonly principal: Principal
  /** `att` without `status`. */
  readonly attributes: JsonObject
  /** Thumbprint of the attested key (RFC 7638). */
  readonly jkt: string
  /** All claims, such as `key_storage`. */
  readonly claims: JsonObject
}

export interface ReadAttestation extends Attestation {
  /**
   * Returns the attested key. Throws `bad_jwk`, `key_not_bound`. A key is imported once, because importing takes as
   * long as a verification.
   */
  readonly bind: (jwk: unknown) => KeyObject
}

interface Known extends ReadAttestation, SignedToken {
  readonly notBefore: number
  readonly status: StatusListReference | undefined
}

export interface AttestationOptions {
  readonly keySets: KeySets
  readonly status: StatusChecker
  /** `typ` of attestations. */
  readonly type: string
  /** Seconds. */
  readonly skew: number
}

/** Reads attestations that are currently valid. */
export const createAttestationReader = ({ keySets, status, type, skew }: AttestationOptions) => {
  const readToken = createSignedTokenReader<Known>({
    keySets,
    skew,
    isType: (typ) => isOfType(typ, type),
    read: readClaims,
    wrongSignature: 'bad_attestation',
  })

  /** `now` is in seconds since the epoch. Throws refusals. */
  return async (text: string, now: number): Promise<ReadAttestation> => {
    const attestation = await readToken(text, now)
    const { issuer, notBefore, expiresAt, claims } = attestation
    if (now < notBefore - skew || now > expiresAt + skew) throw refused('attestation_expired')
    if ((claims['att'] as JsonObject)['status'] !== 'active') throw refused('device_not_active')
    if (attestation.status && (await status.isValid(issuer, attestation.status)) !== true)
      throw refused('device_not_active')
    return attestation
  }
}

const thumbprint = /^[\w-]{43}$/

const readClaims = (issuer: string, claims: JsonObject): Known => {
  const { sub, did, principal_type: principalType, iat, nbf = iat, exp, cnf, att } = claims
  const jkt = isObject(cnf) ? cnf['jkt'] : undefined
  if (typeof sub !== 'string' || typeof did !== 'string' || typeof principalType !== 'string')
    throw refused('malformed')
  if (!isTime(iat) || !isTime(nbf) || !isTime(exp) || !isObject(att)) throw refused('malformed')
  if (typeof jkt !== 'string' || !thumbprint.test(jkt)) throw refused('malformed')
  const attributes = Object.fromEntries(Object.entries(att).filter(([name]) => name !== 'status'))
  let bound: { readonly x: string; readonly y: string; readonly key: KeyObject } | undefined
  return {
    issuer,
    principal: { issuer, subject: sub, principalId: did, principalType },
    attributes,
    jkt,
    claims,
    notBefore: Math.max(iat, nbf),
    expiresAt: exp,
    status: readStatus(claims['status']),
    bind(jwk) {
      const { x, y } = readJwk(jwk)
      if (bound?.x === x && bound.y === y) return bound.key
      const members = `{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`
      if (hash('sha256', members, 'base64url') !== jkt) throw refused('key_not_bound')
      bound = { x, y, key: importKey(x, y) }
      return bound.key
    },
  }
}

/** An attestation whose status this verifier does not understand is not trusted. */
const readStatus = (status: unknown): StatusListReference | undefined => {
  if (status === undefined) return undefined
  const { idx, uri } = (isObject(status) && isObject(status['status_list']) && status['status_list']) || {}
  if (!isTime(idx) || typeof uri !== 'string') throw refused('malformed')
  return { idx, uri }
}

const readJwk = (jwk: unknown): { readonly x: string; readonly y: string } => {
  const { kty, crv, x, y, ...others }: JsonObject = isObject(jwk) ? jwk : {}
  if (kty !== 'EC' || crv !== 'P-256' || typeof x !== 'string' || typeof y !== 'string') throw refused('bad_jwk')
  if (!thumbprint.test(x) || !thumbprint.test(y)) throw refused('bad_jwk')
  // A private key that was sent is compromised.
  if (['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth'].some((name) => name in others)) throw refused('bad_jwk')
  return { x, y }
}

const importKey = (x: string, y: string): KeyObject => {
  try {
    return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' })
  } catch (cause) {
    throw refused('bad_jwk', cause)
  }
}
