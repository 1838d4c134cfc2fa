import type { JsonObject } from '../json.js'
import type { Assertion } from './passkeys.js'
import { isAssertionOf } from './passkeys.js'
import type { KnownOperator } from './directory.js'
import { credentialId } from './operator-record.js'
import { controlled, digestOf, type ActionDocument } from './action.js'
import { permissionsOf, type Roles } from './permissions.js'

/** A signature of an operator over the digest of an action document. */
export interface SignedApproval extends JsonObject {
  readonly operator: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The id of the operator's passkey: `credentialId` of its record. */
  readonly credential: string
  readonly assertion: Assertion & JsonObject
  readonly origin: string
  readonly rp_id: string
}

/** What waits for approval, and what became of it. */
export interface ApprovalRecord {
  readonly id: string
  /** The canonical JSON of an `ActionDocument`. */
  readonly document: string
  /** `running`: it is carried out, or the process that did so has died. */
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'refused'
  readonly approvals: readonly SignedApproval[]
  /** Why it was refused or has failed, or who broke the glass. */
  readonly note?: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/** Operators whose approval would be one of their own action. */
const ownersOf = ({ requested_by: by }: ActionDocument): readonly unknown[] => [by.operator, by['issued_by']]

/** Why an operator may not approve an action, or undefined. */
export const findApproverFault = (
  action: ActionDocument,
  operator: KnownOperator | undefined,
  roles: Roles,
): 'own' | 'unknown_operator' | 'not_permitted' | undefined => {
  if (operator === undefined || operator.disabled) return 'unknown_operator'
  if (ownersOf(action).includes(operator.name)) return 'own'
  const permissions = permissionsOf(roles, operator.roles)
  return permissions.has('approvals.decide') && permissions.has(controlled[action.kind]) ? undefined : 'not_permitted'
}

/** Verifies one approval of a document with the credential that the operator has now. */
export const isApprovalOf = async (
  document: string,
  { assertion, credential, origin, rp_id: rpId }: SignedApproval,
  operator: KnownOperator,
): Promise<boolean> => {
  const passkey = operator.credentials.find((own) => credentialId(own) === credential)
  return (
    passkey?.kind === 'passkey' && isAssertionOf(assertion, passkey, { challenge: digestOf(document), origin, rpId })
  )
}
