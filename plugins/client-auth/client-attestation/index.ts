import { definePlugin, type ClientAuthenticator, type DpopProof, type TokenRequest } from '../../../core/api/index.js'
import { parseCompactJws } from '../../../core/api/internal.js'
import { createCheckAttestation, refusal, type InstanceKey, type Presented } from './attestation.js'
import { options } from './options.js'
import { checkProof } from './proof.js'

/** A repeated header arrives as two texts joined by a comma, which is not a JWT (§7.1, §7.2). */
const readHeader = (request: TokenRequest, name: string): Presented | undefined => {
  const text = request.header(name)
  if (text === undefined) return undefined
  const jws = parseCompactJws(text)
  if (jws === undefined) throw refusal(`${name} is malformed`)
  return { text, jws }
}

const readAttestation = (request: TokenRequest) => {
  const attestation = readHeader(request, 'oauth-client-attestation')
  const clientId = attestation?.jws.payload['sub']
  if (attestation !== undefined && typeof clientId !== 'string') throw refusal('sub is missing')
  return attestation && { attestation, clientId: clientId as string }
}

/** A request with the proof in a header. */
interface WithProof {
  readonly attestation: Presented
  readonly proof: Presented
}

/** The request's DPoP proof serves as the proof (§5.2). */
interface Combined {
  readonly attestation: Presented
  readonly presented: { readonly proof: string; readonly method: string; readonly path: string }
}

/** §7.3. The nonce, which every DPoP proof has here, serves as the challenge. */
const checkSameKey = (keyOf: InstanceKey, dpop: DpopProof): string => {
  if (keyOf(dpop.alg).thumbprint !== dpop.jkt) throw refusal('the DPoP proof is by another key')
  return dpop.jkt
}

/**
 * Clients whose instances are attested (draft-ietf-oauth-attestation-based-client-auth-10, and -07): a trusted
 * attester vouches for the key of the instance, and the instance proves possession with a separate proof or by DPoP.
 */
export default definePlugin({
  name: 'client-auth/client-attestation',
  apiVersion: 1,
  options,
  needs: [
    ...(['clock', 'clockToleranceSeconds', 'issuer', 'issuerKeys', 'attestations'] as const),
    ...(['clientAssertions', 'evidenceChallenges', 'dpopProofs'] as const),
  ],
  create(configured, services) {
    const { clock, issuer, clientAssertions: used, evidenceChallenges: challenges, dpopProofs } = services
    const times = { clock, toleranceSeconds: services.clockToleranceSeconds }
    const { issuerKeys, attestations } = services
    const checkAttestation = createCheckAttestation({ ...times, issuer, options: configured, issuerKeys, attestations })
    const rules = { ...times, issuer, requireChallenge: configured.require_challenge, challenges, used }

    const withProof: ClientAuthenticator<WithProof> = {
      method: 'attest_jwt_client_auth',
      detect(request) {
        const proof = readHeader(request, 'oauth-client-attestation-pop')
        const read = readAttestation(request)
        if (proof === undefined && read === undefined) return undefined
        if (read === undefined) throw refusal('a proof without an attestation')
        if (proof !== undefined) return { clientId: read.clientId, evidence: { attestation: read.attestation, proof } }
        if (request.header('dpop') === undefined) throw refusal('an attestation without a proof')
        return undefined
      },
      async authenticate(client, { attestation, proof }) {
        const keyOf = await checkAttestation(attestation, client)
        return { instanceJkt: await checkProof(proof, keyOf, client, rules) }
      },
    }

    const combined: ClientAuthenticator<Combined> = {
      method: 'attest_jwt_client_auth_dpop',
      detect(request) {
        const dpop = request.header('dpop')
        if (dpop === undefined || request.header('oauth-client-attestation-pop') !== undefined) return undefined
        const read = readAttestation(request)
        if (read === undefined) return undefined
        const presented = { proof: dpop, method: request.method, path: request.path }
        return { clientId: read.clientId, evidence: { attestation: read.attestation, presented } }
      },
      async authenticate(client, { attestation, presented }) {
        const keyOf = await checkAttestation(attestation, client)
        const dpop = await dpopProofs.check(presented)
        return { instanceJkt: checkSameKey(keyOf, dpop), dpop }
      },
    }

    return { clientAuthenticators: [withProof, combined] }
  },
})
