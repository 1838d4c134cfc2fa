import type { JsonObject } from '../json.js'
import type { Assertion } from './passkeys.js'
import { isAssertionOf } from './passkeys.js'
import type { KnownOperator, OperatorDirectory } from './directory.js'
import { credentialId, type OperatorPasskey, type OperatorRecord } from './operator-record.js'
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

/** What the trust in a passkey of the store depends on. */
export interface PasskeyTrust {
  readonly directory: Pick<OperatorDirectory, 'find'>
  /** `dual_control.operators` */
  readonly needed: number
}

/** Each passkey was approved by earlier ones, the first of which are in the configuration. */
const maxDepth = 5

/**
 * Whether a passkey may approve: it is in the configuration, or enough other operators have approved that it was added.
 * Without `dual_control.operators` nobody had to. Throws `Unavailable`.
 */
export const isTrustedPasskey = async (
  operator: KnownOperator,
  passkey: OperatorPasskey,
  trust: PasskeyTrust,
  depth = 0,
): Promise<boolean> => {
  if (trust.needed === 0 || operator.fixed?.includes(credentialId(passkey)) === true) return true
  if (passkey.approved === undefined || depth === maxDepth) return false
  const { document, approvals } = passkey.approved
  const action = JSON.parse(document) as ActionDocument
  const { record } = action.to as unknown as { readonly record?: OperatorRecord }
  const isIts =
    action.action === 'operator.add_credential' &&
    record?.name === operator.name &&
    record.credentials.some(
      (own) =>
        own.kind === 'passkey' && own.credentialId === passkey.credentialId && own.publicKey === passkey.publicKey,
    )
  if (!isIts) return false
  const good = new Set<string>()
  for (const approval of approvals as unknown as readonly SignedApproval[]) {
    const by = await trust.directory.find(approval.operator)
    const own = by?.credentials.find((one) => credentialId(one) === approval.credential)
    if (by === undefined || own?.kind !== 'passkey' || ownersOf(action).includes(by.name)) continue
    if ((await isApprovalOf(document, approval, by)) && (await isTrustedPasskey(by, own, trust, depth + 1)))
      good.add(by.name)
  }
  return good.size >= trust.needed
}
