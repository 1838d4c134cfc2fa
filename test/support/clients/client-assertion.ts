import { createPublicKey, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto'
import type { JwsAlg } from '../../../core/jose/jwk.js'
import { algorithms } from '../../../core/jose/algorithms.js'

export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const generate = (alg: JwsAlg): KeyObject => {
  const { node } = keyTypeOf(alg)
  if (node === 'rsa') return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  if (node === 'ed25519') return generateKeyPairSync('ed25519').privateKey
  return generateKeyPairSync('ec', { namedCurve: alg === 'ES256' ? 'P-256' : 'P-384' }).privateKey
}

const keyTypeOf = (alg: JwsAlg) => {
  const { keyType } = algorithms[alg]
  return { node: keyType === 'RSA' ? 'rsa' : keyType === 'Ed25519' ? 'ed25519' : 'ec' }
}

export interface AssertionKey {
  readonly alg: JwsAlg
  readonly kid: string
  readonly privateKey: KeyObject
  /** With `kid`, as a client registers it. */
  readonly publicJwk: Record<string, unknown>
}

export const newAssertionKey = (alg: JwsAlg = 'ES256', kid = `${alg}-${randomUUID()}`): AssertionKey => {
  const privateKey = generate(alg)
  const publicJwk = { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid }
  return { alg, kid, privateKey, publicJwk }
}

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** `header` and `claims` may be JSON text, for what `JSON.stringify` cannot say. */
export const signAssertion = ({ alg, privateKey }: AssertionKey, header: unknown, claims: unknown): string => {
  const input = `${encode(header)}.${encode(claims)}`
  const { digest, options } = algorithms[alg]
  return `${input}.${sign(digest, Buffer.from(input), { key: privateKey, ...options }).toString('base64url')}`
}

/** The claims of an honest client; undefined leaves one out. */
export const assertionClaims = (
  clientId: string,
  audience: unknown,
  now: number,
  overrides: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> => {
  const iat = Math.floor(now / 1000)
  return { iss: clientId, sub: clientId, aud: audience, exp: iat + 60, iat, jti: randomUUID(), ...overrides }
}
