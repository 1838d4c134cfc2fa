import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { Unavailable } from '../unavailable.js'

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** Encrypts a secret (AES-256-GCM, a random nonce). `owner` is what it belongs to: it opens under that alone. */
export const seal = (secret: Uint8Array, key: Uint8Array, owner: string): string => {
  const nonce = randomBytes(nonceBytes)
  const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(owner))
  return Buffer.concat([nonce, sealing.update(secret), sealing.final(), sealing.getAuthTag()]).toString('base64url')
}

/** Throws `Unavailable` of this component when it was sealed under another key, belongs to another, or was changed. */
export const unseal = (sealed: string, key: Uint8Array, owner: string, component: string): Uint8Array => {
  const bytes = Buffer.from(sealed, 'base64url')
  try {
    const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
    opening.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-tagBytes))
    return Buffer.concat([opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()])
  } catch (cause) {
    throw new Unavailable(component, 'no', 'a secret does not open with this sealing_key', { cause })
  }
}
