import { hash } from 'node:crypto'
import { definePlugin } from '../../../core/api/index.js'
import {
  createCertificateChains,
  isForKey,
  readX5c,
  type EvidenceContext,
  type EvidenceDenied,
  type EvidenceVerifier,
} from '../../../core/api/attestation.js'
import { isOfType, parseCompactJws, verifySignature } from '../../../core/api/internal.js'
import { options } from './options.js'

const refuse = (reason: string): EvidenceDenied => ({ ok: false, reason: `certificate chain: ${reason}` })

const maxProof = 2048

/**
 * A certificate does not contain a challenge, so the key itself signs it. Returns why that signature is not valid, or
 * undefined.
 */
const findProofFault = async (
  proof: unknown,
  { jwk, challenge }: EvidenceContext,
  chainKey: Parameters<typeof verifySignature>[0]['publicKey'],
  issuer: string,
): Promise<string | undefined> => {
  const jws = typeof proof === 'string' && proof.length <= maxProof ? parseCompactJws(proof) : undefined
  if (jws === undefined) return 'the proof is no compact JWS'
  if (jws.header['alg'] !== 'ES256' || !isOfType(jws.header['typ'], 'evidence-proof+jws'))
    return 'alg or typ of the proof is wrong'
  if (jws.payload['aud'] !== issuer) return 'the proof is for another issuer'
  if (jws.payload['challenge'] !== challenge) return 'the proof is for another challenge'
  const isSigned = await verifySignature({ alg: 'ES256', jwk, publicKey: chainKey }, jws.signingInput, jws.signature)
  return isSigned ? undefined : 'the proof is not by the key'
}

/**
 * A vendor's chain that certifies the key of an HSM or a TPM, under roots and object identifiers that the deployer
 * names.
 */
export default definePlugin({
  name: 'attestation/evidence-certificate-chain',
  apiVersion: 1,
  options,
  needs: ['clock', 'issuer'],
  create(wanted, { clock, issuer }) {
    const { kind, roots, intermediates, extended_key_usages: usages, extensions, key_storage: keyStorage } = wanted
    const chains = createCertificateChains({ trustAnchors: roots, intermediates, usages, clock })
    const revoked = new Set(wanted.revoked)
    const verifier: EvidenceVerifier = {
      kind,
      async verify(context, { x5c, proof }) {
        const sent = readX5c(x5c)
        if (sent === undefined) return refuse('x5c is not a chain of certificates')
        const chain = chains.check(sent)
        if (!chain.ok) return refuse(chain.reason)
        const { leaf, path } = chain
        if (!isForKey(leaf, context.jwk)) return refuse('it is about another key')
        if (!extensions.every((oid) => leaf.extensions.has(oid))) return refuse('an extension is missing')
        if (path.some(({ x509 }) => revoked.has(hash('sha256', x509.raw)))) return refuse('a certificate is revoked')
        const fault = await findProofFault(proof, context, leaf.x509.publicKey, issuer)
        if (fault !== undefined) return refuse(fault)
        const { user_authentication: userAuthentication } = wanted
        return { ok: true, keyStorage, ...(userAuthentication && { userAuthentication }) }
      },
    }
    return { evidence: [verifier] }
  },
})
