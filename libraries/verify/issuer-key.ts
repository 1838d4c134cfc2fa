import { constants, createPublicKey, verify, type KeyObject } from 'node:crypto'
import { isObject, type JsonObject } from './jws.js'

/** A key of an issuer, for the algorithms that fit it. */
export interface IssuerKey {
  /** False for a wrong signature, and for an algorithm that does not fit this key. */
  readonly verifies: (alg: unknown, input: string, signature: Buffer) => boolean
  readonly algs: readonly string[]
}

interface Algorithm {
  readonly type: string
  readonly hash: string | null
  readonly options?: { readonly dsaEncoding: 'ieee-p1363' } | { readonly padding: number; readonly saltLength: number }
}

const ecdsa = { dsaEncoding: 'ieee-p1363' } as const
const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST } as const

/** RFC 7518 §3.1, RFC 9864: algorithms that a public key verifies, so without `none` and HMAC. */
export const algorithms: Readonly<Record<string, Algorithm>> = {
  ES256: { type: 'EC P-256', hash: 'sha256', options: ecdsa },
  ES384: { type: 'EC P-384', hash: 'sha384', options: ecdsa },
  ES512: { type: 'EC P-521', hash: 'sha512', options: ecdsa },
  EdDSA: { type: 'OKP Ed25519', hash: null },
  Ed25519: { type: 'OKP Ed25519', hash: null },
  RS256: { type: 'RSA', hash: 'sha256' },
  RS384: { type: 'RSA', hash: 'sha384' },
  RS512: { type: 'RSA', hash: 'sha512' },
  PS256: { type: 'RSA', hash: 'sha256', options: pss },
  PS384: { type: 'RSA', hash: 'sha384', options: pss },
  PS512: { type: 'RSA', hash: 'sha512', options: pss },
}

/** `kty`, or `crv` for types with curves. */
export const keyTypeOf = ({ kty, crv }: JsonObject): string => (kty === 'RSA' ? 'RSA' : `${String(kty)} ${String(crv)}`)

/** Algorithms of proofs, separated by spaces (RFC 9449 §7.1). */
export const proofAlgorithms = Object.keys(algorithms).join(' ')

/**
 * Undefined for a member of a key set that is not for signatures or cannot be used. `wanted` is another `use` than
 * `sig`; keys without a `use` are then left out.
 */
export const importIssuerKey = (jwk: JsonObject, wanted?: string): IssuerKey | undefined => {
  const { alg, use = wanted === undefined ? 'sig' : undefined, key_ops: operations } = jwk
  if (use !== (wanted ?? 'sig')) return undefined
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return undefined
  const type = keyTypeOf(jwk)
  const algs = Object.keys(algorithms).filter((name) => algorithms[name]?.type === type && (alg ?? name) === name)
  const key = algs.length === 0 ? undefined : importKey(jwk)
  if (!key || (key.asymmetricKeyDetails?.modulusLength ?? 2048) < 2048) return undefined
  return {
    algs,
    verifies(named, input, signature) {
      const { hash, options } = (algs.includes(named as string) && algorithms[named as string]) || {}
      return hash !== undefined && verify(hash, Buffer.from(input), { key, ...options }, signature)
    },
  }
}

const importKey = (jwk: JsonObject): KeyObject | undefined => {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    return undefined
  }
}

/**
 * The keys of a key set (RFC 7517 §5) by `kid`, without those that cannot be used. Undefined if this is not a key
 * set.
 */
export const readKeySet = (set: unknown): ReadonlyMap<string, JsonObject> | undefined => {
  if (!isObject(set) || !Array.isArray(set['keys'])) return undefined
  const keys = set['keys'].filter(isObject)
  return new Map(keys.flatMap((jwk) => (typeof jwk['kid'] === 'string' ? [[jwk['kid'], jwk]] : [])))
}
