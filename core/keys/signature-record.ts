import { hash } from 'node:crypto'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyPurpose, MadeSignature } from './ports.js'

/**
 * What the audit log keeps of a signature: enough to find it in the signer's own log, but nothing that could replay
 * it.
 */
export type SignatureRecord = {
  readonly kid: string
  readonly alg: JwsAlg
  readonly typ: string
  readonly purpose: KeyPurpose
  /** The SHA-256 hash of what was signed, in base64url. */
  readonly digest: string
  /** The name of the signer in the configuration. */
  readonly signer: string
  /** The reference by which the backend's own log names the signature. */
  readonly reference: string | undefined
  readonly key_version: string | undefined
}

export const recordSignature = (made: MadeSignature, typ: string, purpose: KeyPurpose): SignatureRecord => ({
  kid: made.kid,
  alg: made.alg,
  typ,
  purpose,
  digest: hash('sha256', made.input, 'base64url'),
  signer: made.signer,
  reference: made.reference,
  key_version: made.keyVersion,
})
