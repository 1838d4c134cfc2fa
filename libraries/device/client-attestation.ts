import { signCompact } from './key.js'
import type { Signing } from './sign.js'

/** The server that a client authenticates to. */
export interface ClientProofOptions {
  /** The issuer of the authorization server, as in its metadata. */
  readonly audience: string
  /** A challenge from the server's `challenge_endpoint` or its header `OAuth-Client-Attestation-Challenge`. */
  readonly challenge?: string
}

/** The headers of a request to an endpoint of an authorization server. Each pair is valid once. */
export interface ClientProof {
  readonly 'OAuth-Client-Attestation': string
  readonly 'OAuth-Client-Attestation-PoP': string
}

/** Creates the proof of a client attestation (draft-ietf-oauth-attestation-based-client-auth-10 §5). */
export const proveClient = async (
  clientAttestation: string,
  { key, now }: Omit<Signing, 'attestation'>,
  { audience, challenge }: ClientProofOptions,
): Promise<ClientProof> => {
  const claims = {
    aud: audience,
    iat: Math.floor(now),
    jti: crypto.randomUUID(),
    ...(challenge !== undefined && { challenge }),
  }
  return {
    'OAuth-Client-Attestation': clientAttestation,
    'OAuth-Client-Attestation-PoP': await signCompact(key, { typ: 'oauth-client-attestation-pop+jwt' }, claims),
  }
}
