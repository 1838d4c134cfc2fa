import type { JsonValue } from '../../json.js'
import type { AuditLog } from '../../observe/audit.js'
import type { SignatureRecord } from '../../keys/signature-record.js'

/** Identifies the answer. */
interface TokenAnswer {
  readonly request_id: string
  readonly client_id: string
  readonly sub: string
  readonly jti: string
}

/** Records one answer in the audit log: every signature once, whatever happens to it, and what was issued. */
export class TokenAudit {
  /** What was signed so far. */
  readonly signatures: SignatureRecord[] = []
  readonly #audit: AuditLog
  readonly #answered: TokenAnswer
  #isRecorded = false

  constructor(audit: AuditLog, answered: TokenAnswer) {
    this.#audit = audit
    this.#answered = answered
  }

  /** Records the signatures before anything is consumed. Throws `Unavailable`. */
  signed(): Promise<void> {
    this.#isRecorded = true
    return this.#audit.record(this.#signedLine())
  }

  /** Records what is sent to the client, and the signatures unless `signed` has. Throws `Unavailable`. */
  issued(more: Readonly<Record<string, JsonValue | undefined>>): Promise<void> {
    const issued = { event: 'token.issued', ...this.#answered, ...more } as const
    if (this.#isRecorded) return this.#audit.record(issued)
    this.#isRecorded = true
    return this.#audit.record(this.#signedLine(), issued)
  }

  /** Records signatures that are not sent. Throws `Unavailable`. */
  async refused(): Promise<void> {
    if (!this.#isRecorded && this.signatures.length > 0) await this.signed()
  }

  #signedLine() {
    return { event: 'token.signed', ...this.#answered, signatures: this.signatures } as const
  }
}
