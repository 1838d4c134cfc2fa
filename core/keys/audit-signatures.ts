import type { AuditLog } from '../observe/audit.js'
import { Unavailable } from '../unavailable.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyRing, MadeSignature, SigningRequest } from './ports.js'
import { recordSignature } from './signature-record.js'

/**
 * What is signed for auditors, by the `typ` that the audit log has of it: a checkpoint of the key log, the transcript
 * of a ceremony, an auditor's pack.
 */
export type AuditDocument = 'tlog-checkpoint' | 'key-ceremony+jwt' | 'audit-pack+jwt'

/** Signs what auditors read, with keys of the purpose `audit`. */
export interface AuditSignatures {
  /**
   * Signs `input`, and records the signature before it is returned. Without `alg`, the first algorithm with a key is
   * used. Throws `Unavailable`, also when there is no such key.
   */
  sign(
    document: AuditDocument,
    input: SigningRequest['input'],
    more: { readonly alg?: JwsAlg; readonly signal: AbortSignal },
  ): Promise<MadeSignature>
}

export interface AuditSignaturesOptions {
  readonly ring: Pick<KeyRing, 'sign' | 'algorithms'>
  readonly audit: AuditLog
}

export const createAuditSignatures = ({ ring, audit }: AuditSignaturesOptions): AuditSignatures => ({
  async sign(document, input, { alg = ring.algorithms('audit')[0], signal }) {
    if (alg === undefined) throw new Unavailable('keys', 'no', 'No key has the purpose audit.')
    const made = await ring.sign({ purpose: 'audit', alg, priority: 'machine', clientId: document, signal, input })
    await audit.record({ event: 'audit.signed', signatures: [recordSignature(made, document, 'audit')] })
    return made
  },
})
