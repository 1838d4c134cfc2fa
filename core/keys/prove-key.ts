import { randomBytes } from 'node:crypto'
import type { RingKey } from './key-states.js'
import { verifySignature } from './verify-signature.js'

/** `failed`: a signature came that the published key does not verify. `unavailable`: none came. */
export interface KeyProof {
  readonly kid: string
  readonly signer: string
  readonly outcome: 'proved' | 'failed' | 'unavailable'
  readonly cause?: unknown
}

/** No JWS signing input begins so: a signed probe can never be a token (RFC 7515 §5.1). */
const probePrefix = Buffer.from('signet probe: ')

/** Has the key sign a probe and verifies it with what is published. Never throws. */
export const proveKey = async (key: RingKey, signal: AbortSignal): Promise<KeyProof> => {
  const { kid, signer, opened } = key
  if (opened === undefined) return { kid, signer, outcome: 'unavailable' }
  const probe = Buffer.concat([probePrefix, randomBytes(32)])
  try {
    const signature = await opened.signing.signer.sign(probe, signal)
    const valid = await verifySignature(opened.published, probe, signature)
    return { kid, signer, outcome: valid ? 'proved' : 'failed' }
  } catch (cause) {
    return { kid, signer, outcome: 'unavailable', cause }
  }
}
