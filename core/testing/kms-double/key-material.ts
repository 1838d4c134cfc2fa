import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

/** The key specs that the double knows, as KMS names them. */
export type DoubleKeySpec = keyof typeof signingAlgorithms

/** KMS developer guide, "Key spec reference". ED25519_PH_SHA_512 is not supported, because Node lacks it. */
export const signingAlgorithms = {
  RSA_2048: rsaAlgorithms(),
  RSA_3072: rsaAlgorithms(),
  RSA_4096: rsaAlgorithms(),
  ECC_NIST_P256: ['ECDSA_SHA_256'],
  ECC_NIST_P384: ['ECDSA_SHA_384'],
  ECC_NIST_EDWARDS25519: ['ED25519_SHA_512', 'ED25519_PH_SHA_512'],
} as const

function rsaAlgorithms() {
  const hashes = [256, 384, 512] as const
  return [
    ...hashes.map((bits) => `RSASSA_PKCS1_V1_5_SHA_${bits}` as const),
    ...hashes.map((bits) => `RSASSA_PSS_SHA_${bits}` as const),
  ]
}

const generate = promisify(generateKeyPair)

export const generateKey = async (spec: DoubleKeySpec): Promise<{ privateKey: KeyObject; publicKey: KeyObject }> => {
  if (spec === 'ECC_NIST_EDWARDS25519') return generate('ed25519')
  if (spec === 'ECC_NIST_P256') return generate('ec', { namedCurve: 'prime256v1' })
  if (spec === 'ECC_NIST_P384') return generate('ec', { namedCurve: 'secp384r1' })
  return generate('rsa', { modulusLength: Number(spec.slice('RSA_'.length)) })
}
