import { evidenceStatement } from '../../../core/api/attestation.js'
import {
  createCertificateAuthority,
  createCertificateKeys,
  x509,
  type CertificateAuthority,
  type CertificateRequest,
  type IssuedCertificate,
} from './certificates.js'
import { cbor, flags, sha256, writeAuthenticatorData, type AuthenticatorData } from './authenticator-data.js'

export const appId = 'A1B2C3D4E5.com.bank.example'
export const production = Buffer.from('appattest\0\0\0\0\0\0\0')
export const development = Buffer.from('appattestdevelop')
export const nonceExtension = '1.2.840.113635.100.8.2'

/** What of an attestation a test makes otherwise. */
export interface AttestKeyRequest {
  readonly challenge: string
  readonly jkt: string
  readonly data?: Partial<AuthenticatorData>
  /** The value of the extension; null: without it. */
  readonly extension?: ((nonce: Buffer) => Buffer) | null
  readonly leaf?: CertificateRequest
  readonly by?: CertificateAuthority
  readonly chain?: readonly IssuedCertificate[]
  readonly object?: Readonly<Record<string, unknown>>
}

const bytes = (buffer: Buffer): Uint8Array => new Uint8Array(buffer)

const writeNonce = (nonce: Buffer): Buffer => Buffer.concat([Buffer.from('3024a1220420', 'hex'), nonce])

export interface AppleDevice {
  readonly root: CertificateAuthority
  /** `attestation_object` of a new key. */
  attestKey(request: AttestKeyRequest): Promise<string>
}

/** A double of an iPhone and of Apple's App Attest CA: what they make has the shape of theirs, under a root of the test. */
export const createAppleDevice = async (): Promise<AppleDevice> => {
  const root = await createCertificateAuthority({ subject: [{ CN: ['Test App Attestation Root CA'] }] })
  const authority = await root.intermediate({
    subject: [{ CN: ['Test App Attestation CA 1'] }],
    ca: { pathLength: 0 },
  })
  return {
    root,
    async attestKey({ challenge, jkt, data, extension = writeNonce, leaf, by = authority, chain = [by], object }) {
      const keys = await createCertificateKeys()
      const { x, y } = await crypto.subtle.exportKey('jwk', keys.publicKey)
      const point = Buffer.concat([Buffer.of(4), ...[x, y].map((one) => Buffer.from(String(one), 'base64url'))])
      const authData = writeAuthenticatorData({
        ...{ rpId: appId, flags: flags.attested, counter: 0, aaguid: production },
        ...{ credentialId: sha256(point), key: { x, y } },
        ...data,
      })
      const nonce = sha256(Buffer.concat([authData, sha256(evidenceStatement(challenge, jkt))]))
      const more = extension && [new x509.Extension(nonceExtension, false, new Uint8Array(extension(nonce)))]
      const certificate = await by.issue({ eku: null, keys, more: more ?? [], ...leaf })
      const x5c = [certificate, ...chain].map(({ der }) => bytes(der))
      const statement = new Map<string, unknown>([
        ['x5c', x5c],
        ['receipt', bytes(Buffer.from('receipt'))],
      ])
      const members = { fmt: 'apple-appattest', attStmt: statement, authData: bytes(authData), ...object }
      return cbor(new Map(Object.entries(members).filter(([, value]) => value !== undefined))).toString('base64')
    },
  }
}
