import { epochSeconds, type Clock } from '../clock.js'
import type { JsonObject } from '../json.js'
import { OAuthError } from '../oauth/errors.js'
import { isSameText } from '../oauth/same-text.js'
import type { createAttestationReader, ReadAttestation } from './read-attestation.js'
import type { PrincipalStatus } from './status.js'

/** Verifies attestations of this issuer that are presented rather than renewed. */
export interface ShownAttestations {
  /**
   * The contents of an attestation that this issuer signed with a published or retired key, that has not expired,
   * that belongs to the key with thumbprint `jkt`, and whose principal the status provider accepts. Undefined for
   * anything else, and without a section `attestation`. The caller must check possession of the key first. Throws
   * `invalid_grant` for a revoked principal, and `Unavailable`: an outage is neither a revocation nor a permission.
   */
  verify(token: string, jkt: string, signal: AbortSignal): Promise<ReadAttestation | undefined>
  /**
   * The claims of a client attestation that this issuer signed with a published or retired key, or undefined for
   * anything else. It may have expired. Throws `Unavailable`.
   */
  verifyClientAttestation(token: string): Promise<JsonObject | undefined>
}

export interface ShownAttestationOptions {
  readonly read: ReturnType<typeof createAttestationReader>
  readonly readClientAttestation: (token: string) => Promise<JsonObject | undefined>
  readonly status: Pick<PrincipalStatus, 'check'>
  readonly clock: Clock
}

export const createShownAttestations = ({
  read,
  readClientAttestation,
  status,
  clock,
}: ShownAttestationOptions): ShownAttestations => ({
  async verify(token, jkt, signal) {
    const presented = await read(token)
    if (presented === undefined || presented.expiresAt <= epochSeconds(clock)) return undefined
    if (!isSameText(presented.jkt, jkt)) return undefined
    const { principal } = presented
    try {
      await status.check({ principal, jkt, step: 'renewal' }, signal)
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      throw new OAuthError('invalid_grant', 'The principal of the attestation is revoked.', {
        reason: `attestation: ${error.reason}`,
      })
    }
    return presented
  },
  verifyClientAttestation: readClientAttestation,
})
