import type { KeyObject } from 'node:crypto'
import { algorithms, keyTypeOf, keyTypes, type CurveOf, type JwsAlg } from './algorithms.js'

export type { JwsAlg }

/** A public key in canonical JWK form (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2). It cannot carry private members. */
export type PublicJwk =
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string }
  | { readonly kty: 'EC'; readonly crv: CurveOf<'EC'>; readonly x: string; readonly y: string }
  | { readonly kty: 'OKP'; readonly crv: CurveOf<'OKP'>; readonly x: string }

/** What verifies signatures of one algorithm. */
export interface VerificationKey {
  readonly alg: JwsAlg
  readonly jwk: PublicJwk
  readonly publicKey: KeyObject
}

type JwkMembers = Readonly<Partial<Record<string, unknown>>>

/** Are these two spellings of one public key, both canonical? False for types of key that do not exist here. */
export const isSameKey = (a: JwkMembers, b: JwkMembers): boolean => {
  const type = keyTypeOf(a)
  return type !== undefined && keyTypes[type].members.every((name) => a[name] !== undefined && a[name] === b[name])
}

/** Bytes of a JOSE signature of `alg` by this key. */
export const signatureLength = (alg: JwsAlg, jwk: PublicJwk): number => {
  const { signatureBytes } = algorithms[alg]
  return signatureBytes === 'modulus' ? Buffer.byteLength(jwk.kty === 'RSA' ? jwk.n : '', 'base64url') : signatureBytes
}
