import { verify, type VerifyKeyObjectInput } from 'node:crypto'
import { algorithms, keyInput, keyTypes } from './algorithms.js'
import type { CompactJws } from './compact-jws.js'
import { signatureLength, type VerificationKey } from './jwk.js'
import { createTurnQueue } from './turn-queue.js'

interface Job {
  readonly digest: string | null
  readonly key: VerifyKeyObjectInput
  readonly message: Uint8Array
  readonly signature: Uint8Array
  readonly resolve: (valid: boolean) => void
  readonly reject: (reason: unknown) => void
}

/** Milliseconds that one turn of the event loop verifies. */
const turnMs = 2

const loop = createTurnQueue<Job>(turnMs, ({ digest, key, message, signature, resolve, reject }) => {
  try {
    resolve(verify(digest, message, key, signature))
  } catch (error) {
    reject(error)
  }
})

const onPool = ({ digest, message, key, signature, resolve, reject }: Job): void =>
  verify(digest, message, key, signature, (error, valid) => {
    if (error === null) resolve(valid)
    else reject(error)
  })

/**
 * Is `signature` (JOSE form) this key's over `message`? All that one turn of the event loop asks are verified together in
 * its check phase: measured on one core with 32 connections, a P-256 signature that was verified where it was asked for
 * took 70 µs, on the thread pool 60 µs, among others of its kind 45 µs, and the slowest answer came no later.
 */
export const verifySignature = (
  { alg, jwk, publicKey }: VerificationKey,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> => {
  // Nothing is spent on what cannot be a signature.
  if (signature.byteLength !== signatureLength(alg, jwk)) return Promise.resolve(false)
  const { digest, keyType } = algorithms[alg]
  const start = keyTypes[keyType].verifiedOn === 'loop' ? loop.push : onPool
  return new Promise((resolve, reject) => {
    start({ digest, key: keyInput(alg, publicKey), message, signature, resolve, reject })
  })
}

/** Is the JWS signed by one of `keys`? They are tried in turn. */
export const isSignedByAny = async (
  { signingInput, signature }: CompactJws,
  keys: readonly VerificationKey[],
): Promise<boolean> => {
  for (const key of keys) if (await verifySignature(key, signingInput, signature)) return true
  return false
}
