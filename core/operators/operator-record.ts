import { hash } from 'node:crypto'
import type { JsonObject } from '../json.js'
import type { CertificateSubject } from '../certificates/subject.js'

/** A passkey of an operator (Web Authentication Level 3 §4, credential record). */
export interface OperatorPasskey {
  readonly kind: 'passkey'
  /** The credential id, base64url. */
  readonly credentialId: string
  /** The COSE_Key (RFC 9052 §7), base64url. */
  readonly publicKey: string
  /** The name that the operator gave it. */
  readonly name?: string
  /** Seconds since the epoch. */
  readonly createdAt?: number
  /** The approvals of its addition. A record that was written into the store by hand has none. */
  readonly approved?: CredentialEvidence
}

/** An attested device of an operator, by the id of its principal. It signs approvals, and opens nothing else. */
export interface OperatorDevice {
  readonly kind: 'device'
  readonly principal: string
  /** As for a passkey. */
  readonly approved?: CredentialEvidence
}

/** The document of `operator.add_credential`, and the signatures over it. */
export interface CredentialEvidence {
  readonly document: string
  readonly approvals: readonly JsonObject[]
}

/** A credential with which an operator authenticates or approves. */
export type OperatorCredential =
  | OperatorPasskey
  | { readonly kind: 'certificate'; readonly subject: CertificateSubject }
  | { readonly kind: 'oidc'; readonly sub: string }
  | OperatorDevice

/** The record of an operator in the store. One for a name of the configuration adds credentials to it, and may disable it. */
export interface OperatorRecord {
  readonly name: string
  readonly roles: readonly string[]
  readonly disabled: boolean
  readonly credentials: readonly OperatorCredential[]
}

/** An operator of the configuration. */
export type ConfiguredOperator = OperatorRecord

/** Names in the audit log that belong to nobody, and segments of paths of the API. */
export const reservedNames: ReadonlySet<string> = new Set(['local', 'admin.token', 'self', 'tokens'])

/** Names of people are in lower case, so that no two look alike. */
export const isOperatorName = (text: string): boolean =>
  /^[a-z0-9][a-z0-9._@-]{0,63}$/.test(text) && !reservedNames.has(text)

const valueOf = (credential: OperatorCredential): string => {
  switch (credential.kind) {
    case 'passkey':
      return credential.credentialId
    case 'certificate':
      return JSON.stringify(Object.entries(credential.subject).filter(([, value]) => value !== undefined))
    case 'oidc':
      return credential.sub
    case 'device':
      return credential.principal
  }
}

/** The id of a credential in lists, sessions and the audit log. Equal credentials have equal ids. */
export const credentialId = (credential: OperatorCredential): string =>
  hash('sha256', `${credential.kind}\n${valueOf(credential)}`, 'base64url').slice(0, 22)
