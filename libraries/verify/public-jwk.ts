import { isObject, type JsonObject } from './jws.js'

/** Members in the order of a thumbprint (RFC 7638 §3.2, RFC 8037 §2). */
const ordered: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
}

/** The members that a thumbprint covers. Undefined if this is not a public key, or has a private member. */
export const membersOf = (jwk: unknown): JsonObject | undefined => {
  if (!isObject(jwk)) return undefined
  // A private key that was sent is compromised.
  if (['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'priv', 'seed'].some((name) => name in jwk)) return undefined
  const names = Object.hasOwn(ordered, String(jwk['kty'])) ? ordered[String(jwk['kty'])] : undefined
  if (!names || names.some((name) => typeof jwk[name] !== 'string')) return undefined
  return Object.fromEntries(names.map((name) => [name, jwk[name]]))
}
