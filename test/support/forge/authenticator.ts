import { KeyObject, sign } from 'node:crypto'
import { evidenceStatement } from '../../../core/api/attestation.js'
import { cbor, flags, sha256, writeAuthenticatorData, type AuthenticatorData } from './authenticator-data.js'
import {
  createCertificateAuthority,
  createCertificateKeys,
  x509,
  type CertificateAuthority,
  type CertificateKeys,
  type CertificateRequest,
  type IssuedCertificate,
} from './certificates.js'

type Json = Record<string, unknown>

export const rpId = 'id.bank.example'
export const origin = 'https://id.bank.example'
export const model = '01020304-0506-0708-0102-030405060708'
export const aaguidExtension = '1.3.6.1.4.1.45724.1.1.4'

/** Another statement than a packed one, over `signed`. */
export type MakeStatement = (made: {
  readonly signed: Buffer
  /** Of the credential. */
  readonly key: Json
  readonly signer: CertificateKeys
}) => Json

/** What of a registration a test makes otherwise. */
export interface RegistrationRequest {
  readonly challenge: string
  readonly jkt: string
  readonly clientData?: Json
  readonly data?: Partial<AuthenticatorData>
  readonly leaf?: CertificateRequest
  readonly by?: CertificateAuthority
  readonly chain?: readonly IssuedCertificate[]
  readonly format?: string
  /** undefined: leaves a member out. */
  readonly statement?: Json
  readonly makeStatement?: MakeStatement
  /** Who signs the statement instead of the authenticator. */
  readonly signer?: CertificateKeys
  readonly credential?: Json
}

const bytes = (buffer: Buffer): Uint8Array => new Uint8Array(buffer)
const defined = (members: Json) => new Map(Object.entries(members).filter(([, value]) => value !== undefined))

const subject = [{ C: ['DE'] }, { O: ['Test keys'] }, { OU: ['Authenticator Attestation'] }, { CN: ['Test key 1'] }]
export const aaguidOf = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex')

/** `id-fido-gen-ce-aaguid` (Web Authentication Level 3 §8.2.1). */
export const sayModel = (uuid: string): x509.Extension =>
  new x509.Extension(aaguidExtension, false, new Uint8Array([4, 16, ...aaguidOf(uuid)]))

export interface Authenticator {
  readonly root: CertificateAuthority
  /** `credential` of the evidence, as `PublicKeyCredential.toJSON()` gives it. */
  register(request: RegistrationRequest): Promise<Json>
}

/** A double of an authenticator and its browser, whose certificates are real ones under a root of the test. */
export const createAuthenticator = async (): Promise<Authenticator> => {
  const root = await createCertificateAuthority({ subject: [{ CN: ['Test keys root'] }] })
  const keys = await createCertificateKeys()
  const credential = await createCertificateKeys()
  const key = await crypto.subtle.exportKey('jwk', credential.publicKey)
  return {
    root,
    async register(request) {
      const { by = root, chain = [], format = 'packed', signer = keys } = request
      const clientData = {
        ...{ type: 'webauthn.create', origin, crossOrigin: false },
        challenge: Buffer.from(evidenceStatement(request.challenge, request.jkt)).toString('base64url'),
        ...request.clientData,
      }
      const clientDataJSON = Buffer.from(JSON.stringify(clientData))
      const authData = writeAuthenticatorData({
        ...{ rpId, flags: flags.present | flags.verified | flags.attested, counter: 1, aaguid: aaguidOf(model) },
        ...{ credentialId: Buffer.alloc(32, 7), key: { x: key.x, y: key.y } },
        ...request.data,
      })
      const leaf = await by.issue({ subject, eku: null, keys, more: [sayModel(model)], ...request.leaf })
      const signed = Buffer.concat([authData, sha256(clientDataJSON)])
      const sig = bytes(sign('sha256', signed, KeyObject.from(signer.privateKey)))
      const x5c = [leaf, ...chain].map(({ der }) => bytes(der))
      const made = request.makeStatement?.({ signed, key: { ...key }, signer })
      const statement = defined({ alg: -7, sig, x5c, ...made, ...request.statement })
      const attestationObject = cbor(defined({ fmt: format, attStmt: statement, authData: bytes(authData) }))
      const id = Buffer.alloc(32, 7).toString('base64url')
      return {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: {
          clientDataJSON: clientDataJSON.toString('base64url'),
          attestationObject: attestationObject.toString('base64url'),
          transports: ['usb'],
        },
        ...request.credential,
      }
    },
  }
}
