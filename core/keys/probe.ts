import { randomBytes } from 'node:crypto'

/** No JWS signing input begins so: a signed probe can never be a token (RFC 7515 §5.1). */
const probePrefix = Buffer.from('signet probe: ')

/** Something to sign that nobody has ever had signed. */
export const newProbe = (): Uint8Array => Buffer.concat([probePrefix, randomBytes(32)])

export const isProbe = (message: Uint8Array): boolean => probePrefix.equals(message.subarray(0, probePrefix.length))
