import { KeyObject, sign } from 'node:crypto'
import { sha256 } from './authenticator-data.js'
import { x509, type CertificateKeys, type CertificateRequest } from './certificates.js'
import { sayModel, type MakeStatement } from './authenticator.js'

const aikUsage = '2.23.133.8.3'

const uint = (bytes: 2 | 4, value: number): Buffer => {
  const buffer = Buffer.alloc(bytes)
  buffer.writeUIntBE(value, 0, bytes)
  return buffer
}
const sized = (content: Buffer): Buffer => Buffer.concat([uint(2, content.length), content])
const [sha256Id, ecc, none, nistP256] = [0x000b, 0x0023, 0x0010, 0x0003].map((id) => uint(2, id)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
]

/** What of a statement of a TPM a test makes otherwise. */
export interface TpmRequest {
  readonly magic?: number
  readonly type?: number
  readonly extraData?: Buffer
  readonly name?: Buffer
  /** Whose key the TPM certifies. */
  readonly certified?: Record<string, unknown>
  readonly signer?: CertificateKeys
}

/** TPMT_PUBLIC of a P-256 key that the TPM made and keeps (TPM 2.0 Part 2 §12.2.4). */
const writePublic = ({ x, y }: Record<string, unknown>): Buffer => {
  const [left, right] = [x, y].map((one) => sized(Buffer.from(String(one), 'base64url'))) as [Buffer, Buffer]
  const parameters = [none, none, nistP256, none]
  return Buffer.concat([ecc, sha256Id, uint(4, 0x0006_0072), uint(2, 0), ...parameters, left, right])
}

/** A statement of the format `tpm` (Web Authentication Level 3 §8.3): TPMS_ATTEST about the credential's key. */
export const tpmStatement =
  (request: TpmRequest = {}): MakeStatement =>
  ({ signed, key, signer }) => {
    const pubArea = writePublic(request.certified ?? key)
    const name = request.name ?? Buffer.concat([sha256Id, sha256(pubArea)])
    const certInfo = Buffer.concat([
      ...[uint(4, request.magic ?? 0xff54_4347), uint(2, request.type ?? 0x8017), sized(Buffer.alloc(34))],
      ...[sized(request.extraData ?? sha256(signed)), Buffer.alloc(17), Buffer.alloc(8), sized(name), sized(name)],
    ])
    const sig = sign('sha256', certInfo, KeyObject.from((request.signer ?? signer).privateKey))
    const members = { pubArea, certInfo, sig }
    const bytes = Object.fromEntries(Object.entries(members).map(([of, value]) => [of, new Uint8Array(value)]))
    return { ver: '2.0', ...bytes }
  }

const tcg = { manufacturer: '2.23.133.2.1', model: '2.23.133.2.2', version: '2.23.133.2.3' }
const sayTpm = new x509.SubjectAlternativeNameExtension(
  [{ type: 'dn', value: `${tcg.manufacturer}=id:494E5443, ${tcg.model}=NPCT, ${tcg.version}=id:13` }],
  true,
)

/** The certificate of an attestation identity key (§8.3.1). */
export const aikCertificate = (model: string, changes: CertificateRequest = {}): CertificateRequest => ({
  ...{ subject: [], eku: [aikUsage], more: [sayModel(model), sayTpm] },
  ...changes,
})
