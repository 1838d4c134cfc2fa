import { randomBytes } from 'node:crypto'

/** No JWS signing input starts with this, so a signed probe can never be a token (RFC 7515 §5.1). */
const probePrefix = Buffer.from('signet probe: ')

/** A message that was never signed before. */
export const newProbe = (): Uint8Array => Buffer.concat([probePrefix, randomBytes(32)])

export const isProbe = (message: Uint8Array): boolean => probePrefix.equals(message.subarray(0, probePrefix.length))
