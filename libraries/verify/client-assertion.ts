import { createPrivateKey, createPublicKey, randomUUID, sign, type KeyObject } from 'node:crypto'
import { algorithms, keyTypeOf } from './issuer-key.js'

/** The key with which an API authenticates as a client of its issuer. */
export interface ClientKey {
  /** PEM, or a private key of `node:crypto`: EC, Ed25519, or RSA, which signs with PS256. */
  readonly key: string | KeyObject
  /** The `kid` of the public half in the client's `jwks`. */
  readonly kid?: string
}

/** Seconds. */
const lifetime = 60

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The algorithm of RSA keys: FAPI 2.0 Security Profile §5.4.1 has no other for them. */
const forRsa = 'PS256'

/**
 * Signs assertions of `private_key_jwt` (RFC 7523 §2.2), each accepted once. `audience` is the issuer; `now` is in
 * seconds since the epoch. Throws a `TypeError` for a key that fits no algorithm.
 */
export const createClientAssertions = (clientId: string, audience: string, { key, kid }: ClientKey) => {
  const privateKey = typeof key === 'string' ? createPrivateKey(key) : key
  const type = keyTypeOf(createPublicKey(privateKey).export({ format: 'jwk' }))
  const alg = type === 'RSA' ? forRsa : Object.keys(algorithms).find((name) => algorithms[name]?.type === type)
  const row = alg === undefined ? undefined : algorithms[alg]
  if (row === undefined) throw new TypeError('introspection.privateKey is of a type that signs nothing')
  const header = encode({ alg, kid, typ: 'JWT' })

  return (now: number): string => {
    const iat = Math.floor(now)
    const claims = { iss: clientId, sub: clientId, aud: audience, iat, exp: iat + lifetime, jti: randomUUID() }
    const input = `${header}.${encode(claims)}`
    return `${input}.${sign(row.hash, Buffer.from(input), { key: privateKey, ...row.options }).toString('base64url')}`
  }
}
