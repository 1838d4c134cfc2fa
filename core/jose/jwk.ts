import type { KeyObject } from 'node:crypto'
import { algorithms, type CurveOf, type JwsAlg } from './algorithms.js'

export type { JwsAlg }

/** A public key in canonical JWK form (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2). The type has no private members. */
export type PublicJwk =
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string }
  | { readonly kty: 'EC'; readonly crv: CurveOf<'EC'>; readonly x: string; readonly y: string }
  | { readonly kty: 'OKP'; readonly crv: CurveOf<'OKP'>; readonly x: string }

/** A key that verifies signatures of one algorithm. */
export interface VerificationKey {
  readonly alg: JwsAlg
  readonly jwk: PublicJwk
  readonly publicKey: KeyObject
}

/** Bytes of a JOSE signature of `alg` made with this key. */
export const signatureLength = (alg: JwsAlg, jwk: PublicJwk): number => {
  const { signatureBytes } = algorithms[alg]
  return signatureBytes === 'modulus' ? Buffer.byteLength(jwk.kty === 'RSA' ? jwk.n : '', 'base64url') : signatureBytes
}
