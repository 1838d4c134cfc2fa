import { X509Certificate } from 'node:crypto'
import { verifyRegistrationResponse, type VerifiedRegistrationResponse } from '@simplewebauthn/server'
import { decodeAttestationObject } from '@simplewebauthn/server/helpers'
import { definePlugin, isObject } from '../../../core/api/index.js'
import {
  createCertificateChains,
  evidenceStatement,
  type EvidenceContext,
  type EvidenceDenied,
  type EvidenceVerifier,
} from '../../../core/api/attestation.js'
import { options, type Options } from './options.js'

const refuse = (reason: string): EvidenceDenied => ({ ok: false, reason: `webauthn: ${reason}` })

/** The checked members of a `RegistrationResponseJSON` (Web Authentication Level 3 §5.1.8), each in base64url. */
interface Response {
  readonly id: string
  readonly clientDataJSON: string
  readonly attestationObject: string
}

const base64url = /^[\w-]+$/

/** Undefined for anything else. Other members are not signed, and are ignored. */
const readResponse = (credential: unknown): Response | undefined => {
  if (!isObject(credential) || !isObject(credential['response'])) return undefined
  const { id } = credential
  const { clientDataJSON, attestationObject } = credential['response']
  const isText = (one: unknown): one is string => typeof one === 'string' && base64url.test(one)
  return isText(id) && isText(clientDataJSON) && isText(attestationObject)
    ? { id, clientDataJSON, attestationObject }
    : undefined
}

/** RSASSA-PKCS1-v1_5 with SHA-1 (RFC 8812 §2), which old TPMs have. */
const rs1 = -65_535

/** The formats with a hardware statement and a certificate (Web Authentication Level 3 §8.2, §8.3). */
const formats = new Set(['packed', 'tpm'])

/**
 * The certificates of the statement, the authenticator's first, or why there are none. Throws any error for other
 * bytes.
 */
const readStatement = ({ attestationObject }: Response): readonly Uint8Array[] | string => {
  const object = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')))
  if (!formats.has(object.get('fmt'))) return 'the format of the statement says nothing of hardware'
  const statement = object.get('attStmt')
  if (Number(statement.get('alg')) === rs1) return 'a signature is too weak'
  const x5c: unknown = statement.get('x5c')
  const isChain = Array.isArray(x5c) && x5c.length > 0 && x5c.every((one) => one instanceof Uint8Array)
  return isChain ? x5c : 'the statement has no certificate'
}

/**
 * Certificates of authenticators without an authority, whose keys the deployer trusts (FIDO Metadata Statement §3.8).
 */
const readPinned = (texts: readonly string[]): readonly X509Certificate[] =>
  texts
    .flatMap((text) => text.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [])
    .map((pem) => new X509Certificate(pem))
    .filter(({ ca }) => !ca)

/**
 * Why what the browser and the authenticator signed is not what was requested, in constant words, or undefined if it
 * is.
 */
const findClientDataFault = (
  { clientDataJSON }: Response,
  { challenge, jkt }: EvidenceContext,
  { origins }: Options,
): string | undefined => {
  const signed = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString()) as Record<string, unknown>
  if (signed['type'] !== 'webauthn.create') return 'it is no registration'
  const statement = Buffer.from(evidenceStatement(challenge, jkt)).toString('base64url')
  if (signed['challenge'] !== statement) return 'it is for another challenge or key'
  if (!origins.some((origin) => origin === signed['origin'])) return 'it is from another origin'
  return signed['crossOrigin'] === true ? 'it was made in a frame of another origin' : undefined
}

/** An authenticator from a manufacturer that the deployer trusts was present and signed for the enrolled key. */
export default definePlugin({
  name: 'attestation/evidence-webauthn',
  apiVersion: 1,
  options,
  needs: ['clock'],
  create(wanted, { clock }) {
    const { roots, rp_id: rpId, aaguids, require_user_verification: requireUser } = wanted
    const chains = createCertificateChains({ trustAnchors: roots, clock })
    const pinned = readPinned(roots)
    const isPinned = (leaf: Uint8Array): boolean => {
      const { publicKey } = new X509Certificate(leaf)
      return pinned.some((one) => one.publicKey.equals(publicKey) && clock() < Date.parse(one.validTo))
    }
    const findChainFault = (x5c: readonly Uint8Array[]): string | undefined => {
      const chain = chains.check(x5c)
      if (chain.ok || (pinned.length > 0 && isPinned(x5c[0] as Uint8Array))) return undefined
      return chain.reason
    }
    const verifyStatement = async (response: Response, { challenge, jkt }: EvidenceContext) =>
      verifyRegistrationResponse({
        response: {
          ...{ id: response.id, rawId: response.id, type: 'public-key', clientExtensionResults: {} },
          response: { clientDataJSON: response.clientDataJSON, attestationObject: response.attestationObject },
        },
        expectedChallenge: Buffer.from(evidenceStatement(challenge, jkt)).toString('base64url'),
        expectedOrigin: [...wanted.origins],
        expectedRPID: rpId,
        requireUserVerification: requireUser,
      })
    const verifier: EvidenceVerifier = {
      kind: wanted.kind,
      async verify(context, { credential }) {
        const response = readResponse(credential)
        if (response === undefined) return refuse('credential is no answer of a registration')
        let verified: VerifiedRegistrationResponse
        try {
          const fault = findClientDataFault(response, context, wanted)
          if (fault !== undefined) return refuse(fault)
          const x5c = readStatement(response)
          if (typeof x5c === 'string') return refuse(x5c)
          const chainFault = findChainFault(x5c)
          if (chainFault !== undefined) return refuse(chainFault)
          verified = await verifyStatement(response, context)
        } catch {
          // The library's messages quote input.
          return refuse('the statement is not right')
        }
        if (!verified.verified) return refuse('the signature is wrong')
        const { aaguid, userVerified, credentialDeviceType, credential: made, fmt } = verified.registrationInfo
        if (made.id !== response.id) return refuse('the id is of another credential')
        if (credentialDeviceType !== 'singleDevice') return refuse('the credential can be copied to other devices')
        if (aaguids !== undefined && !aaguids.includes(aaguid)) return refuse('the model is another one')
        const { key_storage: keyStorage, user_authentication: userAuthentication } = wanted
        return {
          ok: true,
          ...(keyStorage && { keyStorage }),
          ...(userAuthentication && userVerified && { userAuthentication }),
          details: { aaguid, format: fmt, user_verified: userVerified },
        }
      },
    }
    return { evidence: [verifier] }
  },
})
