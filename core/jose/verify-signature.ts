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

/** Milliseconds per turn of the event loop spent on verification. */
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
 * Whether `signature` (JOSE form) is this key's signature over `message`. All requests of one turn of the event loop
 * are verified together in its check phase. Measured on one core with 32 connections, a P-256 signature took 70 µs
 * when verified immediately, 60 µs on the thread pool and 45 µs in a batch, and the slowest answer was no later.
 */
export const verifySignature = (
  { alg, jwk, publicKey }: VerificationKey,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> => {
  // Skip the work when the length already rules out a signature.
  if (signature.byteLength !== signatureLength(alg, jwk)) return Promise.resolve(false)
  const { digest, keyType } = algorithms[alg]
  const start = keyTypes[keyType].verifiedOn === 'loop' ? loop.push : onPool
  return new Promise((resolve, reject) => {
    start({ digest, key: keyInput(alg, publicKey), message, signature, resolve, reject })
  })
}

/** Whether the JWS is signed by one of `keys`, which are tried in turn. */
export const isSignedByAny = async (
  { signingInput, signature }: CompactJws,
  keys: readonly VerificationKey[],
): Promise<boolean> => {
  for (const key of keys) if (await verifySignature(key, signingInput, signature)) return true
  return false
}
