import { epochSeconds, type Clock } from '../clock.js'
import type { JsonObject } from '../json.js'
import { findAlgorithm, understoodAlgorithms } from '../jose/algorithms.js'
import { isJti, isNumericDate } from '../jose/claim-times.js'
import { parseCompactJws } from '../jose/compact-jws.js'
import type { JwsAlg } from '../jose/jwk.js'
import { BadJwk } from '../jose/public-key-guard.js'
import { verifySignature } from '../jose/verify-signature.js'
import type { EphemeralReplayGuard, RecordStore } from '../storage/ports.js'
import { isSameTarget } from '../../libraries/wire/htu.js'
import { isOfType } from '../../libraries/wire/media-type.js'
import { createProofKeys, type ProofKey } from '../jose/proof-keys.js'
import { createNonces, type Nonces } from './dpop-nonce.js'
import { OAuthError } from './errors.js'
import { hashOpaqueToken } from '../opaque-token.js'

/** Seconds that a proof is valid after its `iat`. */
const maxAge = 60
/** Seconds beyond any request's deadline. */
const maxRequestSeconds = 30

export interface DpopOptions {
  /** The base URLs of endpoints: the issuer, and its alias for mutual TLS. */
  readonly bases: readonly string[]
  readonly clock: Clock
  readonly toleranceSeconds: number
  readonly proofs: EphemeralReplayGuard
  /** This store is shared by all replicas. */
  readonly secrets: RecordStore<string>
}

/** A presented proof, and the request that it must belong to. */
export interface PresentedProof {
  /** The value of the header `DPoP`. */
  readonly proof: string
  readonly method: string
  /** The path below the issuer: `/token`. */
  readonly path: string
  /** The access token at a protected resource. `ath` must be its hash (RFC 9449 §7). */
  readonly accessToken?: string
}

/** A proof that is valid except that it may be a replay. */
export interface DpopProof {
  /** Thumbprint of the key (RFC 7638). */
  readonly jkt: string
  readonly alg: JwsAlg
  /** `DPoP-Nonce` for the client's next proof (RFC 9449 §8.2). */
  readonly headers: Readonly<Record<string, string>>
  /**
   * Marks the proof as used. Call it when nothing else can refuse the request. Throws `invalid_dpop_proof` for a
   * replay, and `Unavailable`.
   */
  claim(): Promise<void>
}

export interface Dpop {
  /** The algorithms that the header of a proof may name. */
  readonly algs: readonly string[]
  /** Throws `invalid_dpop_proof` or `use_dpop_nonce`, both with a fresh `DPoP-Nonce`, or `Unavailable`. */
  check(presented: PresentedProof): Promise<DpopProof>
  /** Returns a `DPoP-Nonce` for a client that sent no proof. Throws `Unavailable`. */
  nonceHeader(): Promise<Readonly<Record<string, string>>>
}

/** Checks proofs of possession (RFC 9449 §4.3). Cheap checks come before expensive ones. */
export const createDpop = (options: DpopOptions): Dpop => {
  const { bases, clock, toleranceSeconds, proofs } = options
  const nonces = createNonces(options)
  const keyOf = createProofKeys()

  const checkClaims = (claims: JsonObject, { method, path, accessToken }: PresentedProof): string => {
    const { htm, htu, jti, iat } = claims
    if (htm !== method) refuse('htm is not the method')
    if (typeof htu !== 'string' || !bases.some((base) => isSameTarget(htu, base + path)))
      refuse('htu is not the endpoint')
    if (!isJti(jti)) return refuse('jti missing or too long')
    if (accessToken !== undefined && claims['ath'] !== hashOpaqueToken(accessToken)) refuse('ath is not the token')
    if (!isNumericDate(iat)) return refuse('iat is not a time')
    const age = epochSeconds(clock) - iat
    if (age > maxAge + toleranceSeconds || age < -toleranceSeconds) refuse('iat is too old or in the future')
    return jti
  }

  const check = async (presented: PresentedProof, { current, accepted, since }: Nonces): Promise<DpopProof> => {
    const jws = parseCompactJws(presented.proof) ?? refuse('not a compact JWS')
    const { header, payload } = jws
    if (!isOfType(header['typ'], 'dpop+jwt')) refuse('typ is not dpop+jwt')
    const alg = findAlgorithm(header['alg'])
    if (alg === undefined) return refuse('algorithm not accepted')
    const key = checkKey(keyOf, header['jwk'], alg)
    const jti = checkClaims(payload, presented)
    const { nonce } = payload
    if (typeof nonce !== 'string' || !accepted.includes(nonce))
      throw new OAuthError('use_dpop_nonce', 'The DPoP proof must contain the nonce of this response.', {
        reason: nonce === undefined ? 'no nonce' : 'wrong or expired nonce',
      })
    if (!(await verifySignature(key, jws.signingInput, jws.signature))) refuse('wrong signature')
    const jkt = key.thumbprint
    return {
      jkt,
      alg,
      headers: { 'DPoP-Nonce': current },
      async claim() {
        // The entry lasts until no replica accepts the proof any more, even one whose clock is behind ours, and until
        // a request in progress has ended.
        const end = Math.ceil(payload['iat'] as number) + maxAge + 2 * toleranceSeconds + maxRequestSeconds
        const left = end - epochSeconds(clock)
        // The clock was set forward after the proof was checked.
        if (left <= 0) refuse('iat is too old or in the future', { 'DPoP-Nonce': current })
        if (!(await proofs.claim(jkt, hashOpaqueToken(jti), left, since)))
          refuse('the proof was already used', { 'DPoP-Nonce': current })
      },
    }
  }

  const nonceHeader = async () => ({ 'DPoP-Nonce': (await nonces()).current })

  return {
    algs: understoodAlgorithms,
    nonceHeader,
    async check(presented) {
      const now = await nonces()
      try {
        return await check(presented, now)
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        const { code, description, reason } = error
        throw new OAuthError(code, description, { reason, headers: { 'DPoP-Nonce': now.current } })
      }
    },
  }
}

const refuse = (reason: string, headers: Readonly<Record<string, string>> = {}): never => {
  throw new OAuthError('invalid_dpop_proof', 'The DPoP proof is invalid.', { reason, headers })
}

const checkKey = (keyOf: ReturnType<typeof createProofKeys>, jwk: unknown, alg: JwsAlg): ProofKey => {
  try {
    return keyOf(jwk, alg)
  } catch (error) {
    if (error instanceof BadJwk) return refuse(error.message)
    throw error
  }
}
