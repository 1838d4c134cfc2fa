import { epochSeconds, type Clock } from '../clock.js'
import type { JsonObject } from '../json.js'
import { OAuthError } from '../oauth/errors.js'
import { isSameText } from '../oauth/same-text.js'
import type { createAttestationReader, ReadAttestation } from './read-attestation.js'
import type { PrincipalStatus } from './status.js'

/** Verifies attestations that this issuer gave out, where one is shown instead of renewed. */
export interface ShownAttestations {
  /**
   * What the attestation says, when this issuer signed it with a key that is published or retired, it has not expired, it is of
   * the key with the thumbprint `jkt`, and the status provider accepts its principal; undefined for anything else, and where
   * there is no section `attestation`. That somebody holds the key is for the caller to check, before. Throws `invalid_grant`
   * for a principal that is revoked, `Unavailable`: an outage is no revocation and no leave.
   */
  verify(token: string, jkt: string, signal: AbortSignal): Promise<ReadAttestation | undefined>
  /**
   * The claims of an attestation of a client that this issuer signed, with a key that is published or retired; undefined for
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
    const shown = await read(token)
    if (shown === undefined || shown.expiresAt <= epochSeconds(clock)) return undefined
    if (!isSameText(shown.jkt, jkt)) return undefined
    const { principal } = shown
    try {
      await status.check({ principal, jkt, step: 'renewal' }, signal)
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      throw new OAuthError('invalid_grant', 'The principal of the attestation is revoked.', {
        reason: `attestation: ${error.reason}`,
      })
    }
    return shown
  },
  verifyClientAttestation: readClientAttestation,
})
