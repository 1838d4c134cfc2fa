import { hash } from 'node:crypto'
import { definePlugin } from '../../../core/api/index.js'
import {
  createCertificateChains,
  evidenceStatement,
  type EvidenceContext,
  type EvidenceDenied,
  type EvidenceVerifier,
} from '../../../core/api/attestation.js'
import type { ReadCertificate } from '../../../core/api/internal.js'
import { options } from './options.js'
import { readObject, type AttestationObject } from './read-object.js'

// Apple, "Validating apps that connect to your server".

const refuse = (reason: string): EvidenceDenied => ({ ok: false, reason: `apple app attest: ${reason}` })

const nonceExtension = '1.2.840.113635.100.8.2'
/** A sequence of one element, tagged [1], of 32 octets. */
const beforeNonce = Buffer.from('3024a1220420', 'hex')

const aaguids = {
  production: Buffer.from('appattest\0\0\0\0\0\0\0'),
  development: Buffer.from('appattestdevelop'),
} as const

const sha256 = (bytes: Uint8Array | string): Buffer => hash('sha256', bytes, 'buffer')

/** The name of an App Attest key. Undefined for a key of another kind. */
const keyIdOf = ({ x509 }: ReadCertificate): Buffer | undefined => {
  const { crv, x = '', y = '' } = x509.publicKey.export({ format: 'jwk' })
  if (crv !== 'P-256') return undefined
  return sha256(Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]))
}

const isNonceOf = (leaf: ReadCertificate, { authData }: AttestationObject, { challenge, jkt }: EvidenceContext) => {
  const nonce = sha256(Buffer.concat([authData, sha256(evidenceStatement(challenge, jkt))]))
  return leaf.extensions.get(nonceExtension)?.equals(Buffer.concat([beforeNonce, nonce])) === true
}

const maxObject = 24_576
const base64 = /^[A-Za-z0-9+/]+={0,2}$/

const readText = (text: unknown): AttestationObject | undefined => {
  if (typeof text !== 'string' || text.length > maxObject || !base64.test(text)) return undefined
  try {
    return readObject(Buffer.from(text, 'base64'))
  } catch {
    return undefined
  }
}

/** A genuine application of the deployer on an Apple device states that this is its key. */
export default definePlugin({
  name: 'attestation/evidence-apple-app-attest',
  apiVersion: 1,
  options,
  needs: ['clock'],
  create({ kind, roots, app_ids: appIds, environment, key_storage: keyStorage }, { clock }) {
    const chains = createCertificateChains({ trustAnchors: roots, clock })
    const applications = appIds.map((id) => ({ id, idHash: sha256(id) }))
    const verify = (context: EvidenceContext, sent: unknown): Awaited<ReturnType<EvidenceVerifier['verify']>> => {
      const object = readText(sent)
      if (object === undefined) return refuse('attestation_object is none')
      const chain = chains.check(object.x5c)
      if (!chain.ok) return refuse(chain.reason)
      const application = applications.find(({ idHash }) => idHash.equals(object.rpIdHash))
      if (application === undefined) return refuse('the application is another one')
      if (!aaguids[environment].equals(object.aaguid)) return refuse(`it is not of the ${environment} environment`)
      if (object.counter !== 0) return refuse('the key was used before')
      if (keyIdOf(chain.leaf)?.equals(object.credentialId) !== true) return refuse('the key id is of another key')
      if (!isNonceOf(chain.leaf, object, context)) return refuse('it is for another challenge or key')
      return { ok: true, keyStorage, details: { app_id: application.id, environment } }
    }
    const verifier: EvidenceVerifier = {
      kind,
      verify: (context, { attestation_object: object }) => Promise.resolve(verify(context, object)),
    }
    return { evidence: [verifier] }
  },
})
