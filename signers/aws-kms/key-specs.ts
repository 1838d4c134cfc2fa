import type { KeySpec, SigningAlgorithmSpec } from '@aws-sdk/client-kms'
import type { JwsAlg } from '../../core/api/signer.js'

export interface KmsAlgorithm {
  readonly keySpecs: readonly [KeySpec, ...KeySpec[]]
  readonly signingAlgorithm: SigningAlgorithmSpec
  /** `DIGEST`: the message is hashed here, so its length does not matter. */
  readonly messageType: 'DIGEST' | 'RAW'
}

const rsa = ['RSA_2048', 'RSA_3072', 'RSA_4096'] as const

/**
 * AWS KMS names of our algorithms (KMS developer guide, "Key spec reference"; API reference, `Sign`). A new key gets
 * the first spec. Ed25519 hashes inside the algorithm, and is signed as `RAW` only.
 */
export const kmsAlgorithms: Readonly<Record<JwsAlg, KmsAlgorithm>> = {
  RS256: { keySpecs: rsa, signingAlgorithm: 'RSASSA_PKCS1_V1_5_SHA_256', messageType: 'DIGEST' },
  RS384: { keySpecs: rsa, signingAlgorithm: 'RSASSA_PKCS1_V1_5_SHA_384', messageType: 'DIGEST' },
  RS512: { keySpecs: rsa, signingAlgorithm: 'RSASSA_PKCS1_V1_5_SHA_512', messageType: 'DIGEST' },
  PS256: { keySpecs: rsa, signingAlgorithm: 'RSASSA_PSS_SHA_256', messageType: 'DIGEST' },
  ES256: { keySpecs: ['ECC_NIST_P256'], signingAlgorithm: 'ECDSA_SHA_256', messageType: 'DIGEST' },
  ES384: { keySpecs: ['ECC_NIST_P384'], signingAlgorithm: 'ECDSA_SHA_384', messageType: 'DIGEST' },
  EdDSA: { keySpecs: ['ECC_NIST_EDWARDS25519'], signingAlgorithm: 'ED25519_SHA_512', messageType: 'RAW' },
}

/** Message lengths that `Sign` accepts as `RAW` (API reference, `Sign`). */
export const rawBytes = Object.freeze({ min: 1, max: 4096 })
