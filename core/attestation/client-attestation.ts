import type { JsonObject } from '../json.js'
import { verifyOwnToken, type OwnTokenVerification } from '../tokens/verify-own-token.js'

/** `typ` of the attestation of a client (draft-ietf-oauth-attestation-based-client-auth §4). */
export const clientAttestationType = 'oauth-client-attestation+jwt'

/** Reads attestations of clients that this issuer signed. One that has expired is read too: its reader says so to the client. */
export const createClientAttestationReader =
  (verification: OwnTokenVerification) =>
  async (token: string): Promise<JsonObject | undefined> =>
    (
      await verifyOwnToken(token, {
        ...verification,
        typ: clientAttestationType,
        purpose: 'attestation',
        expired: 'accepted',
      })
    )?.claims
