import { verify } from 'node:crypto'
import { algorithms, keyInput, signatureLength } from './algorithms.js'
import type { PublishedKey } from './ports.js'

/**
 * Is `signature` (JOSE form) this key's over `message`? On the thread pool: verifying P-256 takes 50 µs, P-384 450 µs.
 * Measured on one core with 64 connections, as many answers a second as on the loop, the slowest in a quarter of the
 * time; a tenth more answers than through jose's `compactVerify`, which is WebCrypto.
 */
export const verifySignature = (
  { alg, jwk, publicKey }: Pick<PublishedKey, 'alg' | 'jwk' | 'publicKey'>,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> => {
  // No thread is woken for what cannot be a signature.
  if (signature.byteLength !== signatureLength(alg, jwk)) return Promise.resolve(false)
  return new Promise((resolve, reject) => {
    verify(algorithms[alg].digest, message, keyInput(alg, publicKey), signature, (error, valid) => {
      if (error === null) resolve(valid)
      else reject(error)
    })
  })
}
