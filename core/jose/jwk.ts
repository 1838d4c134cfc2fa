import type { KeyObject } from 'node:crypto'

/** The signing algorithms of issued tokens (RFC 7518 §3.1, RFC 8037 §3.1). HS* and `none` do not exist here. */
export type JwsAlg = 'RS256' | 'RS384' | 'RS512' | 'PS256' | 'ES256' | 'ES384' | 'EdDSA'

/** A public key in canonical JWK form (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2). It cannot carry private members. */
export type PublicJwk =
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string }
  | { readonly kty: 'EC'; readonly crv: 'P-256' | 'P-384'; readonly x: string; readonly y: string }
  | { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string }

/** What verifies signatures of one algorithm. */
export interface VerificationKey {
  readonly alg: JwsAlg
  readonly jwk: PublicJwk
  readonly publicKey: KeyObject
}
