import { BadJwk } from '../jose/public-key-guard.js'
import { createProofKeys, type ProofKey } from '../jose/proof-keys.js'
import { attestationError } from './errors.js'

export interface EnrolmentKeys {
  /** Imports a P-256 key in canonical form before computing its thumbprint. Throws `BadJwk` (the named error). */
  check(jwk: unknown): ProofKey
}

/** The key guard of enrolment. Recently seen keys are not imported again. */
export const createEnrolmentKeys = (): EnrolmentKeys => {
  const keyOf = createProofKeys()
  return {
    check(jwk) {
      try {
        return keyOf(jwk, 'ES256')
      } catch (error) {
        if (!(error instanceof BadJwk)) throw error
        const { reason, message } = error
        const description =
          reason === 'secret'
            ? 'The request contained the private key, so it must be treated as compromised. Generate a new key.'
            : message
        throw attestationError('BadJwk', { description, reason: message })
      }
    },
  }
}
