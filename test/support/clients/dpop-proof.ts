import { createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto'
import { algorithms, keyInput, keyTypes } from '../../../core/jose/algorithms.js'
import type { JwsAlg } from '../../../core/jose/jwk.js'

type Json = Record<string, unknown>

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

const newPrivateKey = (alg: JwsAlg): KeyObject => {
  const { keyType } = algorithms[alg]
  if (keyType === 'RSA') return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  if (keyType === 'Ed25519') return generateKeyPairSync('ed25519').privateKey
  return generateKeyPairSync('ec', { namedCurve: keyType }).privateKey
}

/** What a proof is to say; `undefined` leaves a member out. */
export interface Wish {
  readonly header?: Json
  readonly claims?: Json
  /** Instead of the private key's own. */
  readonly signature?: (input: string) => Buffer
}

export interface Prover {
  readonly alg: JwsAlg
  readonly privateKey: KeyObject
  readonly jwk: Json
  readonly jkt: string
  sign(header: unknown, claims: unknown): string
  /** A good proof of `POST url`, but for what is wished. */
  proof(url: string, nonce: string | undefined, wish?: Wish): string
}

export const accessTokenHash = (token: string): string => createHash('sha256').update(token).digest('base64url')

/** A client's key, and proofs under it (RFC 9449 §4.2). */
export const createProver = (alg: JwsAlg = 'ES256', clock: () => number = Date.now): Prover => {
  const privateKey = newPrivateKey(alg)
  const { kty, crv, x, y, n, e } = privateKey.export({ format: 'jwk' })
  const jwk = JSON.parse(JSON.stringify({ kty, crv, x, y, n, e })) as Json
  const members = keyTypes[algorithms[alg].keyType].members.map((name) => [name, jwk[name]])
  const jkt = createHash('sha256')
    .update(JSON.stringify(Object.fromEntries(members)))
    .digest('base64url')
  const signatureOf = (input: string): Buffer =>
    sign(algorithms[alg].digest, Buffer.from(input), keyInput(alg, privateKey))
  const write = (header: unknown, claims: unknown, signature = signatureOf): string => {
    const input = `${encode(header)}.${encode(claims)}`
    return `${input}.${signature(input).toString('base64url')}`
  }
  return {
    alg,
    privateKey,
    jwk,
    jkt,
    sign: write,
    proof: (url, nonce, { header, claims, signature } = {}) =>
      write(
        { typ: 'dpop+jwt', alg, jwk, ...header },
        { htm: 'POST', htu: url, iat: Math.floor(clock() / 1000), jti: randomUUID(), nonce, ...claims },
        signature,
      ),
  }
}
